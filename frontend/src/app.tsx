// Chooses the view that the address asks for.
import { report } from "./report";
import { nav } from "./state";
import { CompareView } from "./views/compare";
import { KeyList } from "./views/key-list";
import { RunView } from "./views/run";
import { RunsView } from "./views/runs";
import { savedSentence } from "./words";

export function App() {
  return (
    <>
      {report && <p class="saved-bar">{savedSentence(report.madeAt)}</p>}
      <View />
      <KeyList />
    </>
  );
}

function View() {
  const { view, run } = nav.value;
  if (view === "compare") return <CompareView />;
  return view === "run" ? <RunView key={run} name={run} /> : <RunsView />;
}
