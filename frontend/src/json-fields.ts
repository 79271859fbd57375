// Reads single values out of parsed JSON without trusting its shape.
import type { Maybe } from "./api-types";

type Fields = Record<string, unknown>;

const NOT_FINITE = new Map<unknown, number>([
  ["NaN", Number.NaN],
  ["Infinity", Number.POSITIVE_INFINITY],
  ["-Infinity", Number.NEGATIVE_INFINITY],
]);

export function fields(value: unknown): Fields {
  return isFields(value) ? value : {};
}

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** JSON has no word for NaN, so the server sends the strings "NaN" and "Infinity". */
export function number(value: unknown): Maybe<number> {
  if (typeof value === "number") return value;
  return NOT_FINITE.get(value) ?? null;
}

export function text(value: unknown): Maybe<string> {
  return typeof value === "string" ? value : null;
}

export function words(value: unknown): string {
  return text(value) ?? "";
}

export function list<T>(value: unknown, item: (value: unknown) => T): T[] {
  return Array.isArray(value) ? value.map(item) : [];
}

export function record<T>(
  value: unknown,
  item: (value: unknown) => T,
): Record<string, T> {
  return Object.fromEntries(
    Object.entries(fields(value)).map(([key, entry]) => [key, item(entry)]),
  );
}

export function oneOf<T>(known: readonly T[], value: unknown): T | undefined {
  return known.find((candidate) => candidate === value);
}

/** Reads an object field by field; what is missing becomes what its reader makes of it. */
export function shaped<T>(
  readers: {
    [K in keyof T]: (value: unknown) => T[K];
  },
): (value: unknown) => T {
  const names = Object.keys(readers) as (keyof T & string)[];
  return (value) => {
    const given = fields(value);
    const read = names.map((name) => [name, readers[name](given[name])]);
    // Every name of T has a reader, or this would not compile.
    return Object.fromEntries(read) as T;
  };
}

export function maybe<T>(item: (value: unknown) => T): (value: unknown) => Maybe<T> {
  return (value) => (isFields(value) ? item(value) : null);
}

export function listOf<T>(item: (value: unknown) => T): (value: unknown) => T[] {
  return (value) => list(value, item);
}

export function recordOf<T>(
  item: (value: unknown) => T,
): (value: unknown) => Record<string, T> {
  return (value) => record(value, item);
}

/** A word out of a few; the mildest one where we do not know it. */
export function oneOfOr<T>(known: readonly T[], mildest: T): (value: unknown) => T {
  return (value) => oneOf(known, value) ?? mildest;
}

export function numberOr(otherwise: number): (value: unknown) => number {
  return (value) => number(value) ?? otherwise;
}

export function isTrue(value: unknown): boolean {
  return value === true;
}
