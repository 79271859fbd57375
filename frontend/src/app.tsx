// Chooses the view that the address asks for.
import { nav } from "./state";
import { RunView } from "./views/run";
import { RunsView } from "./views/runs";

export function App() {
  const { view, run } = nav.value;
  return view === "run" ? <RunView key={run} name={run} /> : <RunsView />;
}
