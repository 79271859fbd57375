// "Side by side": all lanes of all runs on one axis, with the first difference marked.
import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { ComparedSignal, Comparison, Maybe } from "../api-types";
import { type Sheet, type SheetLane, useSheet } from "../export/sheet";
import { quantity } from "../format";
import { letterOf } from "../parts/badge";
import { Switch } from "../parts/switch";
import { toneOf } from "../run-tone";
import { adjust, nav } from "../state";
import { ALIGNS, type Align } from "../url-state";
import { ALIGN_TITLES, COMPARE_TIMELINE_LABEL } from "../words";
import {
  alignedPlace,
  alignedRange,
  alignedTick,
  alignedTicks,
  alignedTrack,
  joinTracks,
  laneOf,
  laneRange,
} from "./align";
import { CompareLane, type LaneSide, seenAt } from "./compare-lane";
import { firstDifference, isFirst, marksOf } from "./compare-marks";
import { type Group, type GroupLane, lanesOfRun } from "./compared-group";
import { AXIS_WIDTH, RIGHT_MARGIN } from "./lane-plot";
import type { LaneStore } from "./lane-store";
import { type PlacedMark, placePins } from "./marks";
import { CursorLine } from "./overlay";
import { around, needsLog, type Range, toPixels, withinFull } from "./scale";
import { useShownTable } from "./shown-table";
import { SpokenCursor } from "./spoken-cursor";
import { Pins, Ticks } from "./timeline-head";
import { timelineKey } from "./timeline-keys";
import { summaryOf, type Track } from "./track";
import { useWheel } from "./use-wheel";
import { useWidth } from "./use-width";
import { ZoomOut } from "./zoom-out";

interface Props {
  /** The pair that is told in words; its marks are drawn. */
  comparison: Comparison;
  group: Group;
  /** By run, A first. */
  stores: readonly LaneStore[];
}

/** The zoom to a difference: 16% to either side, as "Show" does on a run's page. */
const AROUND_SHARE = 0.32;

export function zoomToDifference(
  comparison: Comparison,
  signal: Maybe<ComparedSignal>,
): void {
  if (!comparison.clocks || !signal?.begins) return;
  const full = alignedRange(comparison.align, comparison.clocks.a);
  adjust({ range: around(signal.begins.x, AROUND_SHARE, full) });
}

function tagOf(comparison: Comparison): string {
  return isFirst(comparison) ? "differs first" : "matters most";
}

export function CompareTimeline({ comparison, group, stores }: Props) {
  const cursor = useSignal<Maybe<number>>(null);
  const table = useShownTable();
  const { align } = group;
  const { range: zoom, difference } = nav.value;
  const first = firstDifference(comparison);
  useZoomedDetail(group, stores);

  function switchAlign(next: Align) {
    cursor.value = null;
    adjust({ align: next, range: null });
  }

  return (
    <section class="card timeline" aria-labelledby="side-by-side">
      <header>
        <h2 id="side-by-side">Side by side</h2>
        <Switch
          legend="Match the runs by"
          class="align"
          items={ALIGNS}
          chosen={align}
          title={(item) => ALIGN_TITLES[item]}
          onSwitch={switchAlign}
        />
        <Switch
          legend="Draw"
          items={[false, true]}
          chosen={difference}
          title={(item) => (item ? "Difference from A" : "Overlay")}
          onSwitch={(item) => adjust({ difference: item })}
        />
        <span class="space" />
        {!zoom && first?.begins && (
          <button
            type="button"
            class="button"
            onClick={() => zoomToDifference(comparison, first)}
          >
            {isFirst(comparison)
              ? "Zoom to the first difference"
              : "Zoom to the difference"}
          </button>
        )}
        {table.button}
        <ZoomOut zoomed={zoom !== null} />
      </header>
      <Lanes
        comparison={comparison}
        group={group}
        stores={stores}
        cursor={cursor}
        zoom={zoom}
        difference={difference}
      />
      {table.table}
    </section>
  );
}

/** Only the zoom decides here; new data of a live run is fetched by the view. */
function useZoomedDetail(group: Group, stores: readonly LaneStore[]) {
  const zoom = nav.value.range;
  const { align, clocks } = group;
  useEffect(() => {
    stores.forEach((store, run) => {
      const clock = clocks[run];
      const range = zoom && clock ? laneRange(zoom, align, clock) : null;
      store.zoom(lanesOfRun(group, run), range);
    });
  }, [zoom, align, stores]);
}

interface LanesProps extends Props {
  cursor: Signal<Maybe<number>>;
  zoom: Maybe<Range>;
  difference: boolean;
}

/** Everything under the axis: one focus, one cursor, one zoom. */
function Lanes({ comparison, group, stores, cursor, zoom, difference }: LanesProps) {
  const { align, lanes, clocks } = group;
  const [ofA] = clocks;
  const head = useRef<HTMLDivElement>(null);
  const width = useWidth(head);
  const full = ofA ? alignedRange(align, ofA) : ([0, 1] as const);
  const inside = zoom && zoom[0] < full[1] && zoom[1] > full[0];
  const range = inside ? withinFull(zoom, full) : full;
  const marks = placePins(marksOf(comparison, ofA), range, width);
  const onZoom = (next: Maybe<Range>) => adjust({ range: next });

  function onSelect(id: string) {
    const x = marks.find((item) => item.mark.id === id)?.x;
    if (x !== undefined) onZoom(around(x, AROUND_SHARE, full));
  }

  function sidesOf(lane: GroupLane): Maybe<LaneSide>[] {
    return stores.map((store, run) => {
      const clock = clocks[run];
      if (!lane.has[run] || !clock) return null;
      return {
        points: store.points(lane.lane),
        failed: store.failed(lane.lane),
        clock,
      };
    });
  }

  function trackOfSide(lane: GroupLane, side: Maybe<LaneSide>): Maybe<Track> {
    const points = side?.points.peek();
    return points && side
      ? alignedTrack(laneOf(lane), points, align, side.clock)
      : null;
  }

  function say(x: number): string {
    const values = lanes.map((lane) => {
      const each = sidesOf(lane).map((side, run) => {
        const track = trackOfSide(lane, side);
        const value = track && quantity(lane.unit, seenAt(track, x, range));
        return `${letterOf(run).toUpperCase()} ${value ?? "none"}`;
      });
      return `${lane.title} ${each.join(", ")}`;
    });
    return `${alignedPlace(align, x)}: ${values.join("; ")}`;
  }

  function sheet(): Sheet {
    return {
      headline: comparison.headline,
      about: group.runs
        .map((run, at) => `${letterOf(at).toUpperCase()}: ${run.name}`)
        .join("   "),
      axisTitle: AXIS_WORDS[align],
      range,
      ticks: alignedTicks(align, range, SHEET_WIDTH).map((x) => ({
        x,
        text: alignedTick(align, x),
      })),
      marks: marks.map(({ mark, x }) => ({
        x,
        label: mark.label,
        tone: toneOf(mark.shape),
        stop: mark.kind === "stop",
      })),
      lanes: lanes.map(sheetLane),
    };
  }

  function sheetLane(lane: GroupLane): SheetLane {
    const known = sidesOf(lane).flatMap((side, run) => {
      const track = trackOfSide(lane, side);
      return track ? [{ track, letter: letterOf(run) }] : [];
    });
    const track = joinTracks(...known.map((one) => one.track));
    const sums = known.map((one) => summaryOf(one.track));
    const every = sums.flatMap((sum) => [sum.lowest ?? [], sum.highest ?? []].flat());
    return {
      id: lane.id,
      title: lane.title,
      unit: lane.unit,
      series: known.map((one) => one.letter.toUpperCase()),
      inks: known.map((one) => `--${one.letter}`),
      track,
      limits: lane.limits,
      log:
        every.length > 0 && needsLog(lane.unit, Math.min(...every), Math.max(...every)),
    };
  }
  useSheet(sheet);
  const box = useRef<HTMLDivElement>(null);
  useWheel(box, { range, full, onZoom });

  const place = (x: number) => alignedPlace(align, x);
  const keys = { range, full, cursor, marks, selected: "", onZoom, onSelect };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms.
    <div
      ref={box}
      class="lanes muted"
      role="group"
      aria-label={COMPARE_TIMELINE_LABEL}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: its keys move the cursor.
      tabIndex={0}
      style={{ "--axis-width": `${AXIS_WIDTH}px`, "--plot-right": `${RIGHT_MARGIN}px` }}
      onKeyDown={(event) => timelineKey(event, keys)}
    >
      <div class="timeline-head">
        <div class="lane-words faint">{AXIS_WORDS[align]}</div>
        <div class="head-plot" ref={head}>
          <Ticks
            ticks={alignedTicks(align, range, width)}
            range={range}
            width={width}
            cursor={cursor}
            write={(x) => alignedTick(align, x)}
            place={place}
          />
          <Pins marks={marks} selected="" place={place} onSelect={onSelect} />
        </div>
      </div>
      <div class="lane-list">
        {lanes.map((lane) => (
          <CompareLane
            key={lane.id}
            lane={lane}
            sides={sidesOf(lane)}
            align={align}
            difference={difference}
            range={range}
            zoomed={zoom !== null}
            tag={lane.id === comparison.first ? tagOf(comparison) : null}
            cursor={cursor}
            onZoom={onZoom}
          />
        ))}
        <Overlay marks={marks} range={range} width={width} cursor={cursor} />
      </div>
      <SpokenCursor cursor={cursor} say={say} />
    </div>
  );
}

const AXIS_WORDS: Record<Align, string> = {
  step: "Step",
  time: "Time since start",
  epoch: "Epoch",
  end: "Time from the end",
};

/** Ticks of a saved picture are as far apart as on a wide screen. */
const SHEET_WIDTH = 1000;

function Overlay(props: {
  marks: readonly PlacedMark[];
  range: Range;
  width: number;
  cursor: Signal<Maybe<number>>;
}) {
  const { marks, range, width, cursor } = props;
  return (
    <div class="overlay" aria-hidden="true">
      <Differing {...props} />
      {marks.map(({ mark, line }) => (
        <div
          key={mark.id}
          class={`mark-line ${mark.kind} ${toneOf(mark.shape)}`}
          style={{ left: `${line}px` }}
        />
      ))}
      <CursorLine width={width} range={range} cursor={cursor} />
    </div>
  );
}

/** From the first difference to where A stopped; either may be out of sight. */
function Differing({ marks, range, width }: Parameters<typeof Overlay>[0]) {
  const from = marks.find((item) => item.mark.kind === "difference");
  const to = marks.find((item) => item.mark.kind === "stop");
  if (!from) return null;
  const left = toPixels(from.x, range, width);
  const right = to ? to.line : width;
  return (
    <div class="differing" style={{ left: `${left}px`, width: `${right - left}px` }} />
  );
}
