// The first view: every run below the log directory, worst news on top.
import { useComputed } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { Maybe, Reading, RunList, RunRow } from "../api-types";
import { Glyph } from "../parts/glyph";
import { NavLink } from "../parts/nav-link";
import { StaleBar } from "../parts/stale-bar";
import { useFresh } from "../parts/use-fresh";
import { needAttention, selectRuns } from "../run-order";
import { shapeOf, toneOf } from "../run-tone";
import { adjust, nav, runList, runPlace } from "../state";
import { problemsTitle, readingSentence, STILL_WAITING, TAB_TITLE } from "../words";
import { Causes, RunFilters } from "./run-filters";
import { PickTray } from "./run-picks";
import { RunTable } from "./run-table";
import { Start } from "./start";

const LIST_EVERY_SECONDS = 30;
/** While the log directory is read for the first time, rows appear as they are read. */
const READING_EVERY_SECONDS = 2;

function every(data: Maybe<RunList>): number {
  return data?.reading.complete === false ? READING_EVERY_SECONDS : LIST_EVERY_SECONDS;
}

export function RunsView() {
  useFresh(runList, every);
  const list = runList.data.value;
  return (
    <main class="page">
      <StaleBar feed={runList} />
      {list === null ? <Loading words={STILL_WAITING} /> : <Loaded list={list} />}
    </main>
  );
}

function Loaded({ list }: { list: RunList }) {
  const nothingYet = !list.reading.complete && list.runs.length === 0;
  if (nothingYet) return <Loading words={readingSentence(list.reading, 0)} />;
  const monitored = list.runs.some((run) => run.monitored);
  if (list.reading.complete && !monitored) return <Start list={list} />;
  return (
    <>
      <h1 class="unseen">{TAB_TITLE}: all runs</h1>
      <NeedsYou runs={needAttention(list.runs)} />
      <RunFilters runs={list.runs} filter={nav.value.filter} query={nav.value.query} />
      <Causes runs={list.runs} chosen={nav.value.cause} />
      {!list.reading.complete && (
        <p class="reading" role="status">
          {readingSentence(list.reading, list.runs.length)}
        </p>
      )}
      <SelectedRuns />
      <PickTray />
      <Problems reading={list.reading} />
    </>
  );
}

function SelectedRuns() {
  const all = runList.data.value?.runs ?? [];
  // Computed, so that a tick of the clock or a scroll does not sort 5,000 runs again.
  const selected = useComputed(() => {
    return selectRuns(runList.data.value?.runs ?? [], nav.value);
  });
  if (selected.value.length === 0) return <NothingFound />;
  return (
    <div class="table-card">
      <RunTable runs={selected.value} allRuns={all} sort={nav.value.sort} />
    </div>
  );
}

function NothingFound() {
  return (
    <p class="nothing-found">
      No run matches.{" "}
      <button
        type="button"
        class="link"
        onClick={() => adjust({ filter: "all", cause: "", query: "" })}
      >
        Show all runs
      </button>
    </p>
  );
}

function NeedsYou({ runs }: { runs: readonly RunRow[] }) {
  if (runs.length === 0) return null;
  return (
    <section class="needs-you" aria-labelledby="needs-you">
      <h2 id="needs-you">Needs you now</h2>
      <div>
        {runs.map((run) => {
          const shape = shapeOf(run.state, run.severity);
          return (
            <NavLink
              key={run.name}
              to={runPlace(run.name)}
              class={`alarm ${toneOf(shape)}`}
            >
              <Glyph shape={shape} size={20} />
              <span>
                <b>{run.headline}</b>
                <span class="cut-off">{run.name}</span>
              </span>
            </NavLink>
          );
        })}
      </div>
    </section>
  );
}

function Problems({ reading }: { reading: Reading }) {
  if (reading.problems.length === 0) return null;
  return (
    <details class="problems">
      <summary>{problemsTitle(reading.problems.length)}</summary>
      <ul>
        {reading.problems.map((problem) => (
          <li key={`${problem.run}/${problem.file}/${problem.message}`}>
            <b>{problem.run}</b> {problem.message}
            <span class="faint">{problem.file}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}

const WORDS_AFTER_MS = 2000;
const SKELETON_ROWS = ["a", "b", "c", "d", "e", "f", "g", "h"];

/** Rows of the real height, so nothing jumps when the answer comes. */
function Loading({ words }: { words: string }) {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), WORDS_AFTER_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <>
      <h1 class="unseen">{TAB_TITLE}: all runs</h1>
      <p class="reading" role="status">
        {late ? words : ""}
      </p>
      <div class="table-card skeleton" aria-hidden="true">
        {SKELETON_ROWS.map((row) => (
          <div key={row}>
            <span />
            <span />
            <span />
          </div>
        ))}
      </div>
    </>
  );
}
