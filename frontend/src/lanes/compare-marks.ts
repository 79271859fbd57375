// The marks of a comparison: where the runs part, and where A stopped.
import type {
  AlignedClock,
  ComparedSignal,
  Comparison,
  Maybe,
  RunRow,
} from "../api-types";
import { isLive, shapeOf } from "../run-tone";
import { FIRST_DIFFERENCE, MAIN_DIFFERENCE } from "../words";
import { endPlace } from "./align";
import type { TimelineMark } from "./marks";

export function firstDifference(comparison: Comparison): Maybe<ComparedSignal> {
  return comparison.signals.find((one) => one.id === comparison.first) ?? null;
}

/** What the verdict on A rests on may differ later than something else. */
export function isFirst({ first, signals }: Comparison): boolean {
  return signals[0]?.id === first;
}

const DIFFERENCE_ID = "difference";

export function marksOf(
  comparison: Comparison,
  ofA: AlignedClock | undefined,
): { mark: TimelineMark; x: Maybe<number> }[] {
  const first = firstDifference(comparison);
  const marks: { mark: TimelineMark; x: Maybe<number> }[] = [];
  if (first?.begins) {
    marks.push({
      x: first.begins.x,
      mark: {
        id: DIFFERENCE_ID,
        at: first.begins,
        shape: "none",
        kind: "difference",
        label: isFirst(comparison) ? FIRST_DIFFERENCE : MAIN_DIFFERENCE,
        title: `${first.title} ${first.what}`,
      },
    });
  }
  const { align, a } = comparison;
  if (!isLive(a.state) && ofA) {
    marks.push({ x: endPlace(align, ofA), mark: stopMark(a) });
  }
  return marks;
}

function stopMark(run: RunRow): TimelineMark {
  const finished = run.state === "finished";
  return {
    id: "stop",
    at: { step: run.step, wall_time: run.ended_at },
    shape: finished ? "ended" : shapeOf(run.state, run.severity),
    kind: "stop",
    label: finished ? "A finished" : "A stopped",
    title: run.headline,
  };
}
