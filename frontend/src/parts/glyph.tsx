// The icons. Shape carries the meaning; colour only repeats it.
import type { ComponentChild } from "preact";
import { type Shape, toneOf } from "../run-tone";

const OCTAGON = "M5 .8h6L15.2 5v6L11 15.2H5L.8 11V5z";
const TRIANGLE =
  "M8 1.2c.5 0 .9.3 1.1.7l6 11.2c.5.9-.1 1.9-1.1 1.9H2c-1 0-1.6-1-1.1-1.9l6-11.2c.2-.4.6-.7 1.1-.7z";

const DRAWINGS: Record<Shape, ComponentChild> = {
  failed: (
    <>
      <path fill="currentColor" d={OCTAGON} />
      <path class="cut" d="m5.4 5.4 5.2 5.2m0-5.2-5.2 5.2" />
    </>
  ),
  stuck: (
    <>
      <path fill="currentColor" d={OCTAGON} />
      <path class="cut" d="M6 5v6m4-6v6" />
    </>
  ),
  warning: (
    <>
      <path fill="currentColor" d={TRIANGLE} />
      <path class="cut" d="M8 6v3.6m0 2.4v.1" />
    </>
  ),
  healthy: (
    <>
      <circle cx="8" cy="8" r="7.2" fill="currentColor" />
      <path class="cut" d="m4.8 8.3 2.2 2.2 4.3-4.6" />
    </>
  ),
  running: (
    <>
      <circle class="drawn" cx="8" cy="8" r="6.4" />
      <path fill="currentColor" d="M6.4 5v6l4.8-3z" />
    </>
  ),
  ended: (
    <>
      <rect class="drawn" x="1.6" y="1.6" width="12.8" height="12.8" rx="3" />
      <rect x="5.2" y="5.2" width="5.6" height="5.6" rx="1" fill="currentColor" />
    </>
  ),
  none: <circle class="drawn" cx="8" cy="8" r="6.4" stroke-dasharray="2.4 2.2" />,
};

/** Where two runs part. It has no severity, so it takes the colour of the text. */
export function Diamond({ size }: { size: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 16 16" aria-hidden="true">
      <path fill="currentColor" d="M8 .5 15.5 8 8 15.5.5 8z" />
    </svg>
  );
}

export function Glyph({ shape, size = 16 }: { shape: Shape; size?: number }) {
  return (
    <svg
      class={`glyph ${toneOf(shape)}`}
      width={size}
      height={size}
      viewBox="0 0 16 16"
      aria-hidden="true"
    >
      {DRAWINGS[shape]}
    </svg>
  );
}
