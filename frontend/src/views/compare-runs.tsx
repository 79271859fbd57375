// The heads of a comparison: which runs, how they ended, and the choice of others.
import { useId } from "preact/hooks";
import type { Comparison, Maybe, RunRow } from "../api-types";
import { Badge, LETTERS, type Letter, letterOf } from "../parts/badge";
import { Glyph } from "../parts/glyph";
import { NavLink } from "../parts/nav-link";
import { report } from "../report";
import { ordered } from "../run-order";
import { shapeOf, toneOf } from "../run-tone";
import { comparePlace, nav, open, runList, runPlace } from "../state";
import { MOST_COMPARED } from "../url-state";
import { PICK_HEALTHY } from "../words";

export function ComparedRuns({ comparisons }: { comparisons: readonly Comparison[] }) {
  const [first] = comparisons;
  if (!first) return null;
  const runs = [first.a, ...comparisons.map((one) => one.b)];
  const { b, more } = nav.value;
  return (
    <>
      <div class="compared-runs">
        {runs.map((run, index) => (
          <Head
            key={letterOf(index)}
            letter={letterOf(index)}
            run={run}
            note={comparisons[index - 1]?.picked ?? null}
          />
        ))}
      </div>
      {!report && b !== "" && more.length + 2 < MOST_COMPARED && <AddRun />}
    </>
  );
}

/** The run of a letter as the address has it; choosing puts another in its place. */
function choose(letter: Letter, name: string): void {
  const { a, b, more } = nav.peek();
  const all = [a, b, ...more];
  all[LETTERS.indexOf(letter)] = name;
  open(comparePlace(all[0] ?? a, ...all.slice(1).filter(isNamed)));
}

function isNamed(name: string): boolean {
  return name !== "";
}

function remove(letter: Letter): void {
  const { a, b, more } = nav.peek();
  const others = [b, ...more].filter((_, at) => letterOf(at + 1) !== letter);
  open(comparePlace(a, ...others));
}

function AddRun() {
  const id = useId();
  const { a, b, more } = nav.value;
  const taken = new Set([a, b, ...more]);
  const known = runList.data.value?.runs ?? [];
  const offered = known.filter((one) => one.monitored && !taken.has(one.name));
  if (offered.length === 0) return null;
  return (
    <p class="add-run">
      <label for={id}>Add a run</label>
      <select
        id={id}
        value=""
        onChange={(event) =>
          open(comparePlace(a, b, ...more, event.currentTarget.value))
        }
      >
        <option value="">Choose …</option>
        {ordered(offered, null).map((one) => (
          <option key={one.name} value={one.name}>
            {one.name}
          </option>
        ))}
      </select>
    </p>
  );
}

function Head({
  letter,
  run,
  note,
}: {
  letter: Letter;
  run: Maybe<RunRow>;
  note: Maybe<string>;
}) {
  const removable = !report && nav.value.more.length > 0 && letter !== "a";
  return (
    <section
      class={`compared-run ${letter}`}
      aria-label={`Run ${letter.toUpperCase()}`}
    >
      <Badge letter={letter} />
      <div>
        {report ? <b>{run?.name}</b> : <Picker letter={letter} run={run} />}
        {run && <State run={run} />}
        {note !== null && <p class="faint">{note}</p>}
      </div>
      {removable && (
        <button type="button" class="link" onClick={() => remove(letter)}>
          Remove<span class="unseen"> run {letter.toUpperCase()}</span>
        </button>
      )}
      {run && <NavLink to={runPlace(run.name)}>Open</NavLink>}
    </section>
  );
}

function State({ run }: { run: RunRow }) {
  const shape = shapeOf(run.state, run.severity);
  return (
    <p class={`compared-state ${toneOf(shape)}`}>
      <Glyph shape={shape} />
      <span>{run.headline}</span>
    </p>
  );
}

/** The list of the browser: it can be searched by typing, and works on a phone. */
function Picker({ letter, run }: { letter: Letter; run: Maybe<RunRow> }) {
  const id = useId();
  const known = runList.data.value?.runs ?? [];
  const shown = run && !known.some((one) => one.name === run.name) ? [run] : [];
  const offered = ordered([...known.filter((one) => one.monitored), ...shown], null);

  return (
    <>
      <label class="unseen" for={id}>
        Choose run {letter.toUpperCase()}
      </label>
      <select
        id={id}
        class="run-picker"
        value={run?.name ?? ""}
        onChange={(event) => choose(letter, event.currentTarget.value)}
      >
        {letter === "b" && nav.value.more.length === 0 && (
          <option value="">{PICK_HEALTHY}</option>
        )}
        {offered.map((one) => (
          <option key={one.name} value={one.name}>
            {one.name}
          </option>
        ))}
      </select>
    </>
  );
}
