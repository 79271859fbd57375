// A run's health in at most three words, with its shape.
import type { Maybe, RunState, Severity } from "../api-types";
import { shapeOfRun, toneOf } from "../run-tone";
import { BEING_JUDGED, stateWord } from "../words";
import { Glyph } from "./glyph";

interface Props {
  run: {
    state: Maybe<RunState>;
    severity: Maybe<Severity>;
    chip: string;
    judged?: boolean;
  };
}

export function Chip({ run }: Props) {
  const shape = shapeOfRun({ judged: true, ...run });
  const waits = shape === "none" && run.state !== null;
  return (
    <span class={`chip ${toneOf(shape)}`}>
      <Glyph shape={shape} size={14} />
      <span class="cut-off">
        {waits ? BEING_JUDGED : run.chip || stateWord(run.state)}
      </span>
    </span>
  );
}
