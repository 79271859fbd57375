// One lane with all runs in it: their values, and their lines on one axis.
import type { ReadonlySignal, Signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { AlignedClock, LanePoints, Maybe } from "../api-types";
import { quantity } from "../format";
import { Badge, letterOf } from "../parts/badge";
import type { Align } from "../url-state";
import { comparedLaneLabel } from "../words";
import { alignedTrack, differenceTrack, joinTracks, laneOf } from "./align";
import type { GroupLane } from "./compared-group";
import { HEIGHT, TALL_HEIGHT } from "./lane";
import { lookOf } from "./lane-plot";
import { needsLog, type Range } from "./scale";
import { summaryOf, type Track, valueAt } from "./track";
import { usePlot } from "./use-plot";

/** One of the runs in a lane. */
export interface LaneSide {
  points: ReadonlySignal<Maybe<LanePoints>>;
  failed: boolean;
  clock: AlignedClock;
}

interface Props {
  lane: GroupLane;
  /** By run, A first. Null where the run has no such signal. */
  sides: readonly Maybe<LaneSide>[];
  align: Align;
  /** Draw how far each run is from A. */
  difference: boolean;
  range: Range;
  zoomed: boolean;
  /** Why this lane matters most; null for the others. */
  tag: Maybe<string>;
  cursor: Signal<Maybe<number>>;
  onZoom(range: Maybe<Range>): void;
}

const NOTHING: Track = { x: [], series: [], gaps: [], notFinite: null };

/** A line of the lane: whose it is, and where it runs. */
interface Line {
  run: number;
  track: Track;
}

export function CompareLane(props: Props) {
  const { lane, range, tag, zoomed, difference } = props;
  const lines = useLines(props);
  const track = useMemo(() => joinTracks(...lines.map((line) => line.track)), [lines]);
  const summaries = useMemo(() => lines.map((line) => summaryOf(line.track)), [lines]);
  const runs = lines.map((line) => line.run).join();
  const info = useMemo(
    () => ({
      ...laneOf(lane),
      limits: difference ? [] : lane.limits,
      series: lines.map(({ run }) => ({ column: letterOf(run), title: letterOf(run) })),
    }),
    [lane, runs, difference],
  );
  const lowest = Math.min(
    ...summaries.map((one) => one.lowest ?? Number.POSITIVE_INFINITY),
  );
  const highest = Math.max(
    ...summaries.map((one) => one.highest ?? Number.NEGATIVE_INFINITY),
  );
  const log =
    !difference && Number.isFinite(highest) && needsLog(lane.unit, lowest, highest);
  const height = tag === null ? HEIGHT : TALL_HEIGHT;
  const model = { lane: info, track, range, fit: zoomed || difference };
  const look = lookOf(lines.map(({ run }) => letterOf(run)));
  const element = usePlot(props, model, height, log, look);
  const missing = props.sides.some(
    (side) => side?.failed && side.points.value === null,
  );
  const letters = lines.map(({ run }) => letterOf(run).toUpperCase());
  return (
    <section
      class={tag === null ? "lane" : "lane explains"}
      data-lane={lane.id}
      aria-label={lane.title}
    >
      <div class="lane-words">
        <h3>{lane.title}</h3>
        {tag !== null && <span class="tag">{tag}</span>}
        <Values {...props} lines={lines} />
      </div>
      <div class="lane-plot">
        <div
          ref={element}
          role="img"
          aria-label={comparedLaneLabel(lane, letters, summaries)}
          style={{ height: `${height}px` }}
        />
        {missing && <p class="lane-failed">This lane could not be read.</p>}
      </div>
    </section>
  );
}

/** All runs, or in their place how far the others are from A. */
function useLines({ lane, sides, align, difference }: Props): Line[] {
  const points = sides.map((side) => side?.points.value ?? null);
  return useMemo(() => {
    const tracks = sides.map((side, run) => {
      const known = points[run];
      return known && side
        ? alignedTrack(laneOf(lane), known, align, side.clock)
        : NOTHING;
    });
    const lines = tracks.map((track, run) => ({ run, track }));
    const [a, ...others] = lines;
    if (!difference || !a) return lines;
    return others.map(({ run, track }) => ({
      run,
      track: differenceTrack(track, a.track),
    }));
    // The sides are made anew each time; what they hold is compared one by one.
  }, [lane, align, difference, ...points, ...sides.map((side) => side?.clock)]);
}

/** Apart from the lane, so that a moving cursor renders only these few words. */
function Values(props: Props & { lines: readonly Line[] }) {
  const { lane, lines, range, difference } = props;
  const x = props.cursor.value;
  const signed = (value: Maybe<number>) =>
    `${difference && value !== null && value > 0 ? "+" : ""}${quantity(lane.unit, value)}`;
  return (
    <div class="lane-values">
      {lines.map(({ run, track }) => (
        <span key={run}>
          <Badge letter={letterOf(run)} /> <b>{signed(seenAt(track, x, range))}</b>
        </span>
      ))}
      <span class="faint when">
        {difference ? "from A" : ""} {x === null ? "at the end" : ""}
      </span>
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
