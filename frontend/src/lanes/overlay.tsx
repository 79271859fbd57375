// The lines that run through every lane: incidents, the stop, the cursor.
//
// They are elements, not paint: exact, themed by the style sheet, and seen with forced
// colours.
import type { Signal } from "@preact/signals";
import type { Maybe } from "../api-types";
import { toneOf } from "../run-tone";
import type { PlacedMark } from "./marks";
import { type Range, toPixels } from "./scale";

interface Props {
  marks: readonly PlacedMark[];
  width: number;
  range: Range;
  selected: string;
  /** What a line of evidence has just pointed at. */
  lit: Maybe<number>;
  cursor: Signal<Maybe<number>>;
}

export function Overlay({ marks, width, range, selected, lit, cursor }: Props) {
  const stop = marks.find((item) => item.mark.kind === "stop");
  return (
    <div class="overlay" aria-hidden="true">
      {stop && stop.line < width && (
        <div class="after-stop" style={{ left: `${stop.line}px` }} />
      )}
      {marks.map(({ mark, line }) => (
        <div
          key={mark.id}
          class={`mark-line ${mark.kind} ${toneOf(mark.shape)}${mark.id === selected ? " selected" : ""}`}
          style={{ left: `${line}px` }}
        />
      ))}
      {lit !== null && lit >= range[0] && lit <= range[1] && (
        <div class="lit-line" style={{ left: `${toPixels(lit, range, width)}px` }} />
      )}
      <CursorLine width={width} range={range} cursor={cursor} />
    </div>
  );
}

export function CursorLine({
  width,
  range,
  cursor,
}: Pick<Props, "width" | "range" | "cursor">) {
  const x = cursor.value;
  if (x === null || x < range[0] || x > range[1]) return null;
  return <div class="cursor-line" style={{ left: `${toPixels(x, range, width)}px` }} />;
}
