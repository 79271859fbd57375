// Turns the answer of /workers into its type, as forgiving as api-decode.ts.
import { unit, workerPart } from "./api-decode";
import type { WorkerCells, WorkerRow } from "./api-types";
import { listOf, number, shaped, words } from "./json-fields";

export const decodeWorkerCells = shaped<WorkerCells>({
  unit,
  rows: listOf(
    shaped<WorkerRow>({ name: words, part: workerPart, values: listOf(number) }),
  ),
});
