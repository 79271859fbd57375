// Writes numbers, sizes, durations and times the one way this tab does.
import type { Maybe, Unit } from "./api-types";

const MINUTE = 60;
const HOUR = 3600;
const DAY = 86400;

const grouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const threeDigits = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 3 });

/** The dash for what was not recorded. */
export const NONE = "–";

function notFinite(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  return value > 0 ? "Inf" : "-Inf";
}

export function integer(value: number): string {
  return Number.isFinite(value) ? grouped.format(value) : notFinite(value);
}

/** Three digits that matter; very large and very small ones with an exponent. */
export function decimal(value: number): string {
  if (!Number.isFinite(value)) return notFinite(value);
  const size = Math.abs(value);
  if (size !== 0 && (size < 0.001 || size >= 1e6)) {
    return value.toExponential(1).replace("e+", "e");
  }
  return size >= 1000 ? grouped.format(value) : threeDigits.format(value);
}

export function bytes(value: number): string {
  if (!Number.isFinite(value)) return notFinite(value);
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let size = Math.abs(value);
  let unit = 0;
  // 1,023.6 MiB would be written "1,024 MiB", so step up a little early.
  while (size >= 1023.5 && unit < units.length - 1) {
    size /= 1024;
    unit += 1;
  }
  const digits = unit >= 3 ? size.toFixed(1) : integer(size);
  return `${value < 0 ? "-" : ""}${digits} ${units[unit]}`;
}

export function percent(fraction: number): string {
  if (!Number.isFinite(fraction)) return notFinite(fraction);
  return `${Math.round(fraction * 100)}%`;
}

export function duration(seconds: number): string {
  if (!Number.isFinite(seconds)) return notFinite(seconds);
  if (seconds > 0 && seconds < 1) return `${integer(Math.ceil(seconds * 1000))} ms`;
  if (seconds < 10) return `${Math.round(seconds * 10) / 10} s`;
  if (seconds < 90) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / MINUTE);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return joined(hours, "h", minutes % 60, "min");
  return joined(Math.floor(hours / 24), "days", hours % 24, "h");
}

function joined(large: number, unit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${unit}` : `${large} ${unit} ${small} ${smallUnit}`;
}

/** A clock that is a little ahead of ours must not give "-3 s ago". */
export function ago(seconds: number): string {
  if (seconds < MINUTE) return "just now";
  if (seconds < 90 * MINUTE) return `${Math.round(seconds / MINUTE)} min ago`;
  if (seconds < 36 * HOUR) return `${Math.round(seconds / HOUR)} h ago`;
  return `${Math.round(seconds / DAY)} days ago`;
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}

/** Time since the start, as a stopwatch shows it. */
export function stopwatch(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const rest = `${two(Math.floor((whole % HOUR) / MINUTE))}:${two(whole % MINUTE)}`;
  const hours = Math.floor(whole / HOUR);
  return hours > 0 ? `${hours}:${rest}` : rest.replace(/^0/, "");
}

export function clockTime(wallTime: number): string {
  const date = new Date(wallTime * 1000);
  return `${two(date.getHours())}:${two(date.getMinutes())}`;
}

export function clockTimeWithSeconds(wallTime: number): string {
  return `${clockTime(wallTime)}:${two(new Date(wallTime * 1000).getSeconds())}`;
}

export function dateAndTime(wallTime: number): string {
  const date = new Date(wallTime * 1000);
  const month = date.toLocaleString("en-US", { month: "short" });
  return `${date.getDate()} ${month} ${date.getFullYear()}, ${clockTime(wallTime)}`;
}

/** A measured value with its unit. */
export function quantity(unit: Unit, value: Maybe<number>): string {
  if (value === null) return NONE;
  switch (unit) {
    case "bytes":
      return bytes(value);
    case "fraction":
      return percent(value);
    case "seconds":
      return duration(value);
    case "count":
      // Cores in use may be a fraction of one; processes never are.
      return Math.abs(value) < 10
        ? decimal(Math.round(value * 100) / 100)
        : integer(value);
    case "per_second":
      return `${decimal(value)}/s`;
    case "celsius":
      return `${integer(value)} °C`;
    case "watts":
      return `${integer(value)} W`;
    case "number":
      return decimal(value);
  }
}
