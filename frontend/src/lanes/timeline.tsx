// "What happened": all lanes of a run under one axis, with the marks drawn through them.
import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { LaneRange } from "../api";
import type { LaneInfo, Maybe, Story, TrainingInside } from "../api-types";
import { type Sheet, type SheetLane, useSheet } from "../export/sheet";
import { dateAndTime, quantity } from "../format";
import { Switch } from "../parts/switch";
import { isLive, shapeOfSeverity, toneOf } from "../run-tone";
import { adjust, lit, nav } from "../state";
import { AXES, type Axis } from "../url-state";
import {
  AXIS_TITLES,
  explainsTag,
  LAST_IN_SIGHT,
  lastWords,
  newTime,
  TIMELINE_LABEL,
} from "../words";
import { HeatMap, heatRows } from "./heat-map";
import { Lane } from "./lane";
import { AXIS_WIDTH, RIGHT_MARGIN } from "./lane-plot";
import type { LaneStore } from "./lane-store";
import { marksOf, placeMarks } from "./marks";
import { Overlay } from "./overlay";
import { movePlace } from "./run-clock";
import { around, lastPart, needsLog, type Range } from "./scale";
import { useShownTable } from "./shown-table";
import { SpokenCursor } from "./spoken-cursor";
import { axisPlace, axisTick } from "./tick-text";
import { TimelineHead, ticksOf } from "./timeline-head";
import { timelineKey } from "./timeline-keys";
import { summaryOf, trackOf, valueAt } from "./track";
import { useFollow } from "./use-follow";
import { type Ranges, useRanges } from "./use-ranges";
import { useWheel } from "./use-wheel";
import { useWidth } from "./use-width";
import { ZoomOut } from "./zoom-out";

const GRADIENTS = "gradient_norm";
/** A value that was measured longer before the last sign of life is not of the end. */
const OLD_SECONDS = 10;

/** Ticks of a saved picture are as far apart as on a wide screen. */
const SHEET_WIDTH = 1000;

interface Props {
  story: Story;
  store: LaneStore;
  inside: Maybe<TrainingInside>;
}

export function Timeline({ story, store, inside }: Props) {
  const cursor = useSignal<Maybe<number>>(null);
  const table = useShownTable();
  const ranges = useRanges(story, store);
  const { axis, clock, full } = ranges;
  const zoom = nav.value.range;
  useZoomedDetail(story, store, ranges);
  const { newSeconds, toEnd } = useFollow(story, ranges);

  const zoomTo = (range: Maybe<Range>) => adjust({ axis, range });

  function switchAxis(next: Axis) {
    const [from, to] = zoom?.map((x) => movePlace(x, axis, next, clock)) ?? [];
    const kept = typeof from === "number" && typeof to === "number" && from < to;
    cursor.value = null;
    adjust({ axis: next, range: kept ? [from, to] : null });
  }

  return (
    <section class="card timeline" aria-labelledby="what-happened">
      <header>
        <h2 id="what-happened">What happened</h2>
        <Switch
          legend="Horizontal axis"
          items={AXES}
          chosen={axis}
          title={(item) => AXIS_TITLES[item]}
          onSwitch={switchAxis}
        />
        <span class="space" />
        {newSeconds !== null && (
          <button type="button" class="button news" onClick={toEnd}>
            {newTime(newSeconds)} <span aria-hidden="true">→</span>
          </button>
        )}
        {!zoom && (
          <button type="button" class="button" onClick={() => zoomTo(lastPart(full))}>
            Zoom to the end
          </button>
        )}
        {table.button}
        <ZoomOut zoomed={zoom !== null} />
      </header>
      <Lanes
        story={story}
        store={store}
        inside={inside}
        ranges={ranges}
        cursor={cursor}
        zoomTo={zoomTo}
      />
      {table.table}
    </section>
  );
}

/** Only the zoom decides here; new data of a live run is fetched by the view. */
function useZoomedDetail(
  story: Story,
  store: LaneStore,
  { axis, clock }: Ranges,
): void {
  const zoom = nav.value.range;
  const shift = axis === "rel" ? (clock.startedAt ?? 0) : 0;
  const counts: LaneRange["axis"] = axis === "step" ? "step" : "time";
  useEffect(() => {
    const range = zoom && { axis: counts, from: zoom[0] + shift, to: zoom[1] + shift };
    store.zoom(
      story.lanes.map((lane) => lane.id),
      range,
    );
  }, [zoom, counts, shift]);
}

interface LanesProps extends Props {
  ranges: Ranges;
  cursor: Signal<Maybe<number>>;
  /** Keeps the axis: a zoom is in its unit. */
  zoomTo(range: Maybe<Range>): void;
}

/** Everything under the axis: one focus, one cursor, one zoom. */
function Lanes({ story, store, inside, ranges, cursor, zoomTo }: LanesProps) {
  const { axis, clock, full, end, range } = ranges;
  const head = useRef<HTMLDivElement>(null);
  const width = useWidth(head);
  const lanes = orderedLanes(story);
  const selected = nav.value.incident;
  const marks = placeMarks(marksOf(story), axis, clock, range, width);

  function onSelect(id: string) {
    const x = marks.find((item) => item.mark.id === id)?.x;
    const zoom = x === undefined ? {} : { range: around(x, 0.32, full) };
    adjust({ incident: id, axis, ...zoom });
  }

  function say(x: number): string {
    const values = lanes.flatMap(({ lane }) => {
      const points = store.points(lane.id).peek();
      if (!points) return [];
      const track = trackOf(lane, points, axis, clock.startedAt);
      return [`${lane.title} ${quantity(lane.unit, valueAt(track, 0, x))}`];
    });
    return `${axisPlace(axis, x)}: ${values.join(", ")}`;
  }

  /** How fresh the last value in sight is, in words. */
  function when(lastTime: number): string {
    if (range[1] < end) return LAST_IN_SIGHT;
    const { last_seen_at: seen, state } = story.run;
    const age = seen === null ? 0 : seen - lastTime;
    // Nobody knows when a run ended that nobody monitored.
    return lastWords(isLive(state), state === null || age > OLD_SECONDS);
  }

  function sheet(): Sheet {
    const { run, verdict } = story;
    return {
      headline: verdict?.headline ?? run.headline,
      about: [run.name, run.started_at === null ? "" : dateAndTime(run.started_at)]
        .filter(Boolean)
        .join(", "),
      axisTitle: AXIS_TITLES[axis],
      range,
      ticks: ticksOf(axis, range, SHEET_WIDTH).map((x) => ({
        x,
        text: axisTick(axis, x, range),
      })),
      marks: marks.map(({ mark, x }) => ({
        x,
        label: mark.label,
        tone: toneOf(mark.shape),
        stop: mark.kind === "stop",
      })),
      lanes: lanes.flatMap(({ lane }) => sheetLane(lane)),
    };
  }

  function sheetLane(lane: LaneInfo): SheetLane[] {
    const points = store.points(lane.id).peek();
    if (!points) return [];
    const track = trackOf(lane, points, axis, clock.startedAt);
    const { lowest, highest } = summaryOf(track);
    const several = lane.series.length > 1;
    return [
      {
        id: lane.id,
        title: lane.title,
        unit: lane.unit,
        series: several ? lane.series.map((series) => series.title) : [],
        inks: ["--line"],
        track,
        limits: lane.limits,
        log: needsLog(lane.unit, lowest, highest),
      },
    ];
  }
  useSheet(sheet);
  const box = useRef<HTMLDivElement>(null);
  useWheel(box, { range, full, onZoom: zoomTo });

  const keys = { range, full, cursor, marks, selected, onZoom: zoomTo, onSelect };
  const shared = { axis, range, width, clock, cursor, marks, selected };
  const tone = toneOf(shapeOfSeverity(story.verdict?.severity ?? "info"));
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms.
    <div
      ref={box}
      class={`lanes ${tone}`}
      role="group"
      aria-label={TIMELINE_LABEL}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: its keys move the cursor.
      tabIndex={0}
      style={{ "--axis-width": `${AXIS_WIDTH}px`, "--plot-right": `${RIGHT_MARGIN}px` }}
      onKeyDown={(event) => timelineKey(event, keys)}
    >
      <TimelineHead
        {...shared}
        plot={head}
        epochs={story.epochs}
        phases={story.phases}
        run={story.run}
        onSelect={onSelect}
      />
      <div class="lane-list">
        {lanes.flatMap(({ lane, explains }) => [
          <Lane
            key={lane.id}
            lane={lane}
            points={store.points(lane.id)}
            failed={store.failed(lane.id)}
            axis={axis}
            startedAt={clock.startedAt}
            range={range}
            tag={explains ? explainsTag(story.run.state) : null}
            when={when}
            cursor={cursor}
            onZoom={zoomTo}
          />,
          // The sum of all gradients, and below it where they are.
          lane.id === GRADIENTS && inside && heatRows(inside).length > 0 && (
            <HeatMap
              key="heat"
              inside={inside}
              axis={axis}
              startedAt={clock.startedAt}
              range={range}
              width={width}
              cursor={cursor}
            />
          ),
        ])}
        <Overlay {...shared} lit={lit.value?.x ?? null} />
      </div>
      <SpokenCursor cursor={cursor} say={say} />
    </div>
  );
}

/** Lanes that the verdict rests on come first, or the story is lost among the others. */
export function orderedLanes(story: Story): { lane: LaneInfo; explains: boolean }[] {
  const strong = story.verdict?.evidence.filter((item) => item.strength === "strong");
  const named = new Set(strong?.map((item) => item.lane));
  const lanes = story.lanes.map((lane) => ({ lane, explains: named.has(lane.id) }));
  return lanes.sort((a, b) => Number(b.explains) - Number(a.explains));
}
