// How well two colours can be told apart, also with a colour deficiency; for tests.

type Triple = readonly [number, number, number];
type Matrix = readonly [Triple, Triple, Triple];

/** Full dichromacy after Machado, Oliveira and Fernandes (2009). */
export const SIGHTS: Record<string, Matrix> = {
  normal: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protan: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deutan: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritan: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

function linear(channel: number): number {
  return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
}

function light(hex: string): Triple {
  const channel = (at: number) =>
    linear(Number.parseInt(hex.slice(at, at + 2), 16) / 255);
  return [channel(1), channel(3), channel(5)];
}

function times(row: Triple, [r, g, b]: Triple): number {
  return row[0] * r + row[1] * g + row[2] * b;
}

function seen(color: Triple, sight: Matrix): Triple {
  const within = (value: number) => Math.min(1, Math.max(0, value));
  return [
    within(times(sight[0], color)),
    within(times(sight[1], color)),
    within(times(sight[2], color)),
  ];
}

/** WCAG 2 contrast ratio. */
export function contrast(a: string, b: string): number {
  const luminance = (hex: string) => times([0.2126, 0.7152, 0.0722], light(hex));
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return ((high ?? 0) + 0.05) / ((low ?? 0) + 0.05);
}

function lab(color: Triple): Triple {
  const root = (t: number) => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116);
  const x = root(times([0.4124564, 0.3575761, 0.1804375], color) / 0.95047);
  const y = root(times([0.2126729, 0.7151522, 0.072175], color));
  const z = root(times([0.0193339, 0.119192, 0.9503041], color) / 1.08883);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

const degrees = (angle: number) => (angle * 180) / Math.PI;
const cosine = (angle: number) => Math.cos((angle * Math.PI) / 180);
const sine = (angle: number) => Math.sin((angle * Math.PI) / 180);
const seventh = (value: number) => Math.sqrt(value ** 7 / (value ** 7 + 25 ** 7));

function hue(a: number, b: number): number {
  return a === 0 && b === 0 ? 0 : (degrees(Math.atan2(b, a)) + 360) % 360;
}

/** CIEDE2000, for colours that are not grey. */
function difference([l1, a1, b1]: Triple, [l2, a2, b2]: Triple): number {
  const stretch = 1.5 - 0.5 * seventh((Math.hypot(a1, b1) + Math.hypot(a2, b2)) / 2);
  const c1 = Math.hypot(a1 * stretch, b1);
  const c2 = Math.hypot(a2 * stretch, b2);
  const h1 = hue(a1 * stretch, b1);
  const h2 = hue(a2 * stretch, b2);
  const turn = ((h2 - h1 + 540) % 360) - 180;
  const meanHue = (h1 + turn / 2 + 360) % 360;
  const meanLight = (l1 + l2) / 2;
  const meanChroma = (c1 + c2) / 2;
  const t =
    1 -
    0.17 * cosine(meanHue - 30) +
    0.24 * cosine(2 * meanHue) +
    0.32 * cosine(3 * meanHue + 6) -
    0.2 * cosine(4 * meanHue - 63);
  const fromMiddle = (meanLight - 50) ** 2;
  const inLight = (l2 - l1) / (1 + (0.015 * fromMiddle) / Math.sqrt(20 + fromMiddle));
  const inChroma = (c2 - c1) / (1 + 0.045 * meanChroma);
  const inHue =
    (2 * Math.sqrt(c1 * c2) * sine(turn / 2)) / (1 + 0.015 * meanChroma * t);
  const blue = 30 * Math.exp(-(((meanHue - 275) / 25) ** 2));
  const rotation = -2 * seventh(meanChroma) * sine(2 * blue);
  return Math.sqrt(
    inLight ** 2 + inChroma ** 2 + inHue ** 2 + rotation * inChroma * inHue,
  );
}

export function differenceSeen(a: string, b: string, sight: Matrix): number {
  return difference(lab(seen(light(a), sight)), lab(seen(light(b), sight)));
}
