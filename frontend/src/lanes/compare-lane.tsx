// One lane with both runs in it: their values, and their lines on one axis.
import type { ReadonlySignal, Signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { AlignedClock, ComparedLane, LanePoints, Maybe } from "../api-types";
import { quantity } from "../format";
import { Badge, type Letter } from "../parts/badge";
import type { Align } from "../url-state";
import { comparedLaneLabel } from "../words";
import { alignedTrack, joinTracks, laneOf } from "./align";
import { HEIGHT, TALL_HEIGHT } from "./lane";
import { TWO_RUNS } from "./lane-plot";
import { needsLog, type Range } from "./scale";
import { summaryOf, type Track, valueAt } from "./track";
import { usePlot } from "./use-plot";

/** One of the two runs in a lane. */
export interface LaneSide {
  points: ReadonlySignal<Maybe<LanePoints>>;
  failed: boolean;
  clock: AlignedClock;
}

interface Props {
  lane: ComparedLane;
  /** Null where the run has no such signal. */
  a: Maybe<LaneSide>;
  b: Maybe<LaneSide>;
  align: Align;
  range: Range;
  zoomed: boolean;
  /** Why this lane matters most; null for the others. */
  tag: Maybe<string>;
  cursor: Signal<Maybe<number>>;
  onZoom(range: Maybe<Range>): void;
}

const NOTHING: Track = { x: [], series: [], gaps: [], notFinite: null };

export function CompareLane(props: Props) {
  const { lane, align, range, tag, zoomed } = props;
  const a = useTrack(lane, props.a, align);
  const b = useTrack(lane, props.b, align);
  const track = useMemo(() => joinTracks(a, b), [a, b]);
  const [ofA, ofB] = useMemo(() => [summaryOf(a), summaryOf(b)], [a, b]);
  const info = useMemo(
    () => ({
      ...laneOf(lane),
      series: [
        { column: "a", title: "A" },
        { column: "b", title: "B" },
      ],
    }),
    [lane],
  );
  const log = needsLog(
    lane.unit,
    lower(ofA.lowest, ofB.lowest),
    higher(ofA.highest, ofB.highest),
  );
  const height = tag === null ? HEIGHT : TALL_HEIGHT;
  const model = { lane: info, track, range, fit: zoomed };
  const element = usePlot(props, model, height, log, TWO_RUNS);
  const missing = [props.a, props.b].some(
    (side) => side?.failed && side.points.value === null,
  );
  return (
    <section
      class={tag === null ? "lane" : "lane explains"}
      data-lane={lane.id}
      aria-label={lane.title}
    >
      <div class="lane-words">
        <h3>{lane.title}</h3>
        {tag !== null && <span class="tag">{tag}</span>}
        <Values {...props} trackA={a} trackB={b} />
      </div>
      <div class="lane-plot">
        <div
          ref={element}
          role="img"
          aria-label={comparedLaneLabel(lane, ofA, ofB)}
          style={{ height: `${height}px` }}
        />
        {missing && <p class="lane-failed">This lane could not be read.</p>}
      </div>
    </section>
  );
}

function useTrack(lane: ComparedLane, side: Maybe<LaneSide>, align: Align): Track {
  const points = side?.points.value ?? null;
  const clock = side?.clock;
  return useMemo(
    () =>
      points && clock ? alignedTrack(laneOf(lane), points, align, clock) : NOTHING,
    [lane, points, align, clock],
  );
}

function lower(a: Maybe<number>, b: Maybe<number>): Maybe<number> {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}

function higher(a: Maybe<number>, b: Maybe<number>): Maybe<number> {
  return a === null || b === null ? (a ?? b) : Math.max(a, b);
}

/** Apart from the lane, so that a moving cursor renders only these few words. */
function Values(props: Props & { trackA: Track; trackB: Track }) {
  const { lane, trackA, trackB, range } = props;
  const x = props.cursor.value;
  const value = (letter: Letter, track: Track) => (
    <span>
      <Badge letter={letter} /> <b>{quantity(lane.unit, seenAt(track, x, range))}</b>
    </span>
  );
  return (
    <div class="lane-values">
      {value("a", trackA)}
      {value("b", trackB)}
      <span class="faint when">{x === null ? "at the end" : ""}</span>
    </div>
  );
}

/** At the cursor, else the last in sight. A run says nothing beyond its own end. */
export function seenAt(track: Track, x: Maybe<number>, range: Range): Maybe<number> {
  const last = track.x.at(-1);
  if (last === undefined) return null;
  if (x === null) return valueAt(track, 0, Math.min(last, range[1]));
  return x > last ? null : valueAt(track, 0, x);
}
