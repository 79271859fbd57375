// Chooses the view that the address asks for.
import { nav } from "./state";
import { CompareView } from "./views/compare";
import { RunView } from "./views/run";
import { RunsView } from "./views/runs";

export function App() {
  const { view, run } = nav.value;
  if (view === "compare") return <CompareView />;
  return view === "run" ? <RunView key={run} name={run} /> : <RunsView />;
}
