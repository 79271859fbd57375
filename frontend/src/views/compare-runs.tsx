// The heads of a comparison: which runs, how they ended, and the choice of others.
import { useId } from "preact/hooks";
import type { Comparison, Maybe, RunRow } from "../api-types";
import { Badge, type Letter } from "../parts/badge";
import { Glyph } from "../parts/glyph";
import { NavLink } from "../parts/nav-link";
import { ordered } from "../run-order";
import { shapeOf, toneOf } from "../run-tone";
import { comparePlace, nav, open, runList, runPlace } from "../state";
import { PICK_HEALTHY } from "../words";

export function ComparedRuns({ comparison }: { comparison: Comparison }) {
  const { a, b, picked } = comparison;
  return (
    <div class="compared-runs">
      <Head letter="a" run={a} note={null} />
      <Head letter="b" run={b} note={picked} />
    </div>
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
  return (
    <section
      class={`compared-run ${letter}`}
      aria-label={`Run ${letter.toUpperCase()}`}
    >
      <Badge letter={letter} />
      <div>
        <Picker letter={letter} run={run} />
        {run && <State run={run} />}
        {note !== null && <p class="faint">{note}</p>}
      </div>
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
  const { a, b } = nav.value;
  const known = runList.data.value?.runs ?? [];
  const shown = run && !known.some((one) => one.name === run.name) ? [run] : [];
  const offered = ordered([...known.filter((one) => one.monitored), ...shown], null);

  function choose(name: string) {
    open(letter === "a" ? comparePlace(name, b) : comparePlace(a, name));
  }

  return (
    <>
      <label class="unseen" for={id}>
        Choose run {letter.toUpperCase()}
      </label>
      <select
        id={id}
        class="run-picker"
        value={run?.name ?? ""}
        onChange={(event) => choose(event.currentTarget.value)}
      >
        {letter === "b" && <option value="">{PICK_HEALTHY}</option>}
        {offered.map((one) => (
          <option key={one.name} value={one.name}>
            {one.name}
          </option>
        ))}
      </select>
    </>
  );
}
