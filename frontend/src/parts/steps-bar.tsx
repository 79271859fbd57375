// How far a run came on its planned way, with ticks where something went wrong.
import type { RunRow } from "../api-types";
import { integer, NONE } from "../format";
import { shapeOfSeverity, toneOf } from "../run-tone";

export function StepsBar({ run }: { run: RunRow }) {
  const { step, planned_steps: planned, marks } = run;
  if (step === null) return <span class="faint">{NONE}</span>;
  if (planned === null || planned <= 0) return <span>{integer(step)}</span>;
  const share = (value: number) =>
    `${Math.max(0, Math.min(1, value / planned)) * 100}%`;
  return (
    <span class="steps">
      <span
        class={run.state === "running" ? "track moving" : "track"}
        aria-hidden="true"
      >
        <span style={{ width: share(step) }} />
        {marks.map((mark) => (
          <i
            key={`${mark.step} ${mark.severity}`}
            class={toneOf(shapeOfSeverity(mark.severity))}
            style={{ left: share(mark.step) }}
          />
        ))}
      </span>
      <span class="figure">
        {integer(step)} <span class="faint">/ {integer(planned)}</span>
      </span>
    </span>
  );
}
