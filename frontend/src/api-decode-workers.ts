// Turns the answer of /workers into its type, as forgiving as api-decode.ts.
import { UNITS, WORKER_PARTS } from "./api-decode";
import type { WorkerCells, WorkerRow } from "./api-types";
import { fields, list, number, oneOf, words } from "./json-fields";

function row(value: unknown): WorkerRow {
  const given = fields(value);
  return {
    name: words(given.name),
    part: oneOf(WORKER_PARTS, given.part) ?? "fine",
    values: list(given.values, number),
  };
}

export function decodeWorkerCells(value: unknown): WorkerCells {
  const given = fields(value);
  return {
    unit: oneOf(UNITS, given.unit) ?? "number",
    rows: list(given.rows, row),
  };
}
