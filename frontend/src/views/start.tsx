// What a newcomer sees: no runs yet, or runs that nobody monitored, and the one line to add.
import { useState } from "preact/hooks";
import type { RunList, RunRow } from "../api-types";
import { CodeBox } from "../parts/code-box";
import { Glyph } from "../parts/glyph";
import { NavLink } from "../parts/nav-link";
import { Switch } from "../parts/switch";
import type { Shape } from "../run-tone";
import {
  noneMonitored,
  noRunsSentence,
  placesRead,
  SNIPPET_NAMES,
  SNIPPETS,
  type SnippetName,
} from "../words";

export function Start({ list }: { list: RunList }) {
  const empty = list.runs.length === 0;
  return (
    <div class="start">
      <header>
        <Glyph shape="none" size={40} />
        <h1>
          {empty ? "No runs here yet" : "No health data in this log directory yet"}
        </h1>
        <p>
          {empty && `${noRunsSentence(list.logdirs)} `}
          Add one line to your training script, run it, and this page will say what your
          run is doing and, if it stops, why.
        </p>
      </header>
      <Snippet>
        <ul class="checks">
          <Check shape="healthy">
            TensorBoard is reading <code>{placesRead(list.logdirs)}</code>
          </Check>
          <Check shape="warning">
            {empty ? "No runs found" : noneMonitored(list.runs.length)}
          </Check>
          <Check shape="running">
            Watching for new data. This page will change by itself.
          </Check>
        </ul>
      </Snippet>
      {!empty && <PlainRuns runs={list.runs} />}
    </div>
  );
}

/** The lines to paste. Also shown on the page of a run without health data. */
export function Snippet({ children }: { children?: preact.ComponentChildren }) {
  const [chosen, choose] = useState<SnippetName>("Keras");
  return (
    <section class="card snippet" aria-labelledby="paste-this">
      <header>
        <h2 id="paste-this">Paste this</h2>
        <Switch
          legend="How do you train?"
          items={SNIPPET_NAMES}
          chosen={chosen}
          title={(name) => name}
          onSwitch={(name) => choose(name)}
        />
      </header>
      <div class="card-body">
        <CodeBox code={SNIPPETS[chosen]} />
        {children}
      </div>
    </section>
  );
}

function Check({
  shape,
  children,
}: {
  shape: Shape;
  children: preact.ComponentChildren;
}) {
  return (
    <li>
      <Glyph shape={shape} size={16} />
      <span>{children}</span>
    </li>
  );
}

const RUNS_SHOWN = 50;

/** What their scalars tell, as far as they go. */
function PlainRuns({ runs }: { runs: readonly RunRow[] }) {
  return (
    <details class="problems" open>
      <summary>Runs without health data</summary>
      <ul>
        {runs.slice(0, RUNS_SHOWN).map(({ name, headline }) => (
          <li key={name} class="cut-off">
            <NavLink to={{ view: "run", run: name }}>{name}</NavLink>: {headline}
          </li>
        ))}
        {runs.length > RUNS_SHOWN && <li>and {runs.length - RUNS_SHOWN} more</li>}
      </ul>
    </details>
  );
}
