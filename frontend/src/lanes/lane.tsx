// One lane of the timeline: its name, its value and its chart.
import type { ReadonlySignal, Signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { LaneInfo, LanePoints, Maybe } from "../api-types";
import { quantity } from "../format";
import { lit } from "../state";
import type { Axis } from "../url-state";
import { laneLabel } from "../words";
import { DASHES } from "./lane-plot";
import { needsLog, type Range } from "./scale";
import {
  lastMeasured,
  lastSeen,
  summaryOf,
  type Track,
  trackOf,
  valueAt,
} from "./track";
import { usePlot } from "./use-plot";

export const HEIGHT = 74;
export const TALL_HEIGHT = 104;

export interface LaneProps {
  lane: LaneInfo;
  points: ReadonlySignal<Maybe<LanePoints>>;
  failed: boolean;
  axis: Axis;
  startedAt: Maybe<number>;
  range: Range;
  /** Why this lane comes first; null for the others. */
  tag: Maybe<string>;
  /** What to say of values of which the last was measured at a time. */
  when(lastTime: number): string;
  cursor: Signal<Maybe<number>>;
  onZoom(range: Maybe<Range>): void;
}

const NO_POINTS: LanePoints = {
  lane: "",
  samples: 0,
  bucketed: false,
  time: [],
  step: [],
  series: [],
};

export function Lane(props: LaneProps) {
  const { lane, axis, startedAt, range, tag } = props;
  const points = props.points.value;
  const track = useMemo(
    () => trackOf(lane, points ?? NO_POINTS, axis, startedAt),
    [lane, points, axis, startedAt],
  );
  const summary = useMemo(() => summaryOf(track), [track]);
  const log = needsLog(lane.unit, summary.lowest, summary.highest);
  const height = tag === null ? HEIGHT : TALL_HEIGHT;
  const element = usePlot(props, { lane, track, range }, height, log);
  return (
    <section
      class={`lane${tag === null ? "" : " explains"}${lit.value?.lane === lane.id ? " lit" : ""}`}
      data-lane={lane.id}
      aria-label={lane.title}
    >
      <div class="lane-words">
        <h3>{lane.title}</h3>
        {tag !== null && <span class="tag">{tag}</span>}
        <LaneValues {...props} track={track} />
      </div>
      <div class="lane-plot">
        <div
          ref={element}
          role="img"
          aria-label={laneLabel(lane, summary)}
          style={{ height: `${height}px` }}
        />
        {points === null && props.failed && (
          <p class="lane-failed">This lane could not be read.</p>
        )}
      </div>
    </section>
  );
}

/** Apart from the lane, so that a moving cursor renders only these few words. */
function LaneValues(props: LaneProps & { track: Track }) {
  const { lane, track, range } = props;
  const x = props.cursor.value;
  const several = lane.series.length > 1;
  const seen = lane.series.map((_, index) => lastSeen(track, index, range[1]));
  const last = lastMeasured(props.points.value);
  const said = (index: number) =>
    x === null
      ? (track.series[index]?.said[seen[index] ?? -1] ?? null)
      : valueAt(track, index, x);
  return (
    <div class={several ? "lane-values several" : "lane-values"}>
      {lane.series.map((series, index) => (
        <span key={series.column}>
          {several && <LineSample index={index} />}
          <b>{quantity(lane.unit, said(index))}</b>
          {several && <span class="faint"> {series.title}</span>}
        </span>
      ))}
      {!several && (
        <span class="faint when">
          {x === null && last !== null ? props.when(last) : ""}
        </span>
      )}
    </div>
  );
}

function LineSample({ index }: { index: number }) {
  const dash = DASHES[index % DASHES.length] ?? [];
  return (
    <svg
      class={index === 0 ? "sample first" : "sample"}
      width="18"
      height="4"
      aria-hidden="true"
    >
      <path d="M0 2h18" stroke-dasharray={dash.join(" ")} />
    </svg>
  );
}
