// A run's health in at most three words, with its shape.
import type { Maybe, RunState, Severity } from "../api-types";
import { shapeOf, toneOf } from "../run-tone";
import { stateWord } from "../words";
import { Glyph } from "./glyph";

interface Props {
  run: { state: Maybe<RunState>; severity: Maybe<Severity>; chip: string };
}

export function Chip({ run }: Props) {
  const shape = shapeOf(run.state, run.severity);
  return (
    <span class={`chip ${toneOf(shape)}`}>
      <Glyph shape={shape} size={14} />
      <span class="cut-off">{run.chip || stateWord(run.state)}</span>
    </span>
  );
}
