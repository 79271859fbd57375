// What a newcomer sees: no runs yet, or runs that nobody monitored, and the one line to add.
import type { RunList } from "../api-types";
import { CodeBox } from "../parts/code-box";
import { Glyph } from "../parts/glyph";
import type { Shape } from "../run-tone";
import { KERAS_SNIPPET, noneMonitored, noRunsSentence, placesRead } from "../words";

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
      {!empty && <RunNames names={list.runs.map((run) => run.name)} />}
    </div>
  );
}

/** The lines to paste. Also shown on the page of a run without health data. */
export function Snippet({ children }: { children?: preact.ComponentChildren }) {
  return (
    <section class="card snippet" aria-labelledby="paste-this">
      <header>
        <h2 id="paste-this">Paste this</h2>
        <span class="faint">Keras</span>
      </header>
      <div class="card-body">
        <CodeBox code={KERAS_SNIPPET} />
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

const NAMES_SHOWN = 50;

function RunNames({ names }: { names: readonly string[] }) {
  return (
    <details class="problems">
      <summary>Runs without health data</summary>
      <ul>
        {names.slice(0, NAMES_SHOWN).map((name) => (
          <li key={name} class="cut-off">
            {name}
          </li>
        ))}
        {names.length > NAMES_SHOWN && <li>and {names.length - NAMES_SHOWN} more</li>}
      </ul>
    </details>
  );
}
