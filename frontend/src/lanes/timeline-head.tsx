// The top of the timeline: ticks, the strip of epochs and the pins of the incidents.
import type { Signal } from "@preact/signals";
import type { RefObject } from "preact";
import type { Epoch, Maybe, Phase, RunRow } from "../api-types";
import { Diamond, Glyph } from "../parts/glyph";
import { toneOf } from "../run-tone";
import type { Axis } from "../url-state";
import { AXIS_TITLES, epochTooltip, phaseTooltip } from "../words";
import type { PlacedMark } from "./marks";
import { placeOf, type RunClock } from "./run-clock";
import { PIXELS_PER_TICK, type Range, timeTicks, toPixels, wholeTicks } from "./scale";
import { axisPlace, axisTick } from "./tick-text";

interface Props {
  plot: RefObject<HTMLDivElement | null>;
  width: number;
  axis: Axis;
  range: Range;
  clock: RunClock;
  epochs: readonly Epoch[];
  phases: readonly Phase[];
  run: RunRow;
  marks: readonly PlacedMark[];
  selected: string;
  cursor: Signal<Maybe<number>>;
  onSelect(id: string): void;
}

export function TimelineHead(props: Props) {
  const { axis, range, width } = props;
  return (
    <div class="timeline-head">
      <div class="lane-words faint">{AXIS_TITLES[axis]}</div>
      <div class="head-plot" ref={props.plot}>
        <Ticks
          {...props}
          ticks={ticksOf(axis, range, width)}
          write={(x) => axisTick(axis, x, range)}
          place={(x) => axisPlace(axis, x)}
        />
        <Epochs {...props} />
        <Pins {...props} place={(x) => axisPlace(axis, x)} />
      </div>
    </div>
  );
}

export function ticksOf(axis: Axis, range: Range, width: number): number[] {
  const wanted = Math.max(2, Math.floor(width / PIXELS_PER_TICK));
  if (axis === "step") return wholeTicks(range, wanted);
  if (axis === "rel") return timeTicks(range, wanted);
  const zone = new Date(range[0] * 1000).getTimezoneOffset() * 60;
  return timeTicks(range, wanted, zone);
}

interface TicksProps {
  ticks: readonly number[];
  range: Range;
  width: number;
  cursor: Signal<Maybe<number>>;
  write(x: number): string;
  /** The text at the cursor. */
  place(x: number): string;
}

export function Ticks({ ticks, range, width, cursor, write, place }: TicksProps) {
  const x = cursor.value;
  return (
    <div class="ticks" aria-hidden="true">
      {ticks.map((tick) => (
        <span key={tick} style={{ left: `${toPixels(tick, range, width)}px` }}>
          {write(tick)}
        </span>
      ))}
      {x !== null && (
        <b style={{ left: `${toPixels(x, range, width)}px` }}>{place(x)}</b>
      )}
    </div>
  );
}

const NARROWEST_WITH_NAME = 52;

function Epochs({ epochs, phases, axis, range, clock, width, run }: Props) {
  if (epochs.length === 0 && phases.length === 0) return null;
  const end = { step: run.step, wall_time: run.ended_at ?? run.last_seen_at };
  const inside = (x: number) => Math.max(0, Math.min(width, toPixels(x, range, width)));
  return (
    <div class="epochs">
      {epochs.map((epoch) => {
        const first = { step: epoch.first_step, wall_time: epoch.started_at };
        const last = { step: epoch.last_step, wall_time: epoch.ended_at };
        const from = placeOf(first, axis, clock);
        const to = placeOf(last, axis, clock) ?? placeOf(end, axis, clock);
        if (from === null || to === null) return null;
        const pixels = inside(to) - inside(from) - 1;
        if (pixels < 1) return null;
        return (
          <span
            key={`${epoch.epoch} ${epoch.started_at} ${epoch.first_step}`}
            title={epochTooltip(epoch)}
            style={{ left: `${inside(from)}px`, width: `${pixels}px` }}
          >
            {pixels >= NARROWEST_WITH_NAME && `Epoch ${epoch.epoch}`}
          </span>
        );
      })}
      {phases.map((phase) => {
        if (axis === "step" && phase.what === "Starting") return null;
        // While no steps are made, the axis of steps stands still: a mark, not a stretch.
        const at = (time: number) =>
          placeOf(
            { step: axis === "step" ? phase.step : null, wall_time: time },
            axis,
            clock,
          );
        const [from, to] = [at(phase.from_time), at(phase.to_time)];
        if (from === null || to === null || to < range[0] || from > range[1])
          return null;
        const pixels = Math.max(3, inside(to) - inside(from));
        return (
          <i
            key={`${phase.what} ${phase.from_time}`}
            class={`phase ${phase.what.toLowerCase()}`}
            title={phaseTooltip(phase)}
            style={{ left: `${inside(from)}px`, width: `${pixels}px` }}
          >
            {pixels >= NARROWEST_WITH_NAME && phase.what}
          </i>
        );
      })}
    </div>
  );
}

interface PinsProps {
  marks: readonly PlacedMark[];
  selected: string;
  place(x: number): string;
  onSelect(id: string): void;
}

export function Pins({ marks, selected, place, onSelect }: PinsProps) {
  return (
    <div class="pins">
      {marks.map(({ mark, x, pin, width }) => (
        <button
          key={mark.id}
          type="button"
          class={`pin ${mark.kind} ${toneOf(mark.shape)}`}
          aria-pressed={mark.id === selected}
          aria-label={`${mark.label}: ${mark.title}, ${place(x)}`}
          title={mark.title}
          style={{ left: `${pin}px`, width: `${width}px` }}
          onClick={() => onSelect(mark.id)}
        >
          {mark.kind === "stop" && <Glyph shape={mark.shape} size={14} />}
          {mark.kind === "difference" && <Diamond size={10} />}
          {mark.label}
        </button>
      ))}
    </div>
  );
}
