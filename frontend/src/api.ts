// Asks the plugin's routes, and tells apart the ways in which that can fail.
import { decodeError, decodeLane, decodeRunList, decodeStory } from "./api-decode";
import { decodeComparison } from "./api-decode-comparison";
import { decodeEvents, decodeTraining } from "./api-decode-training";
import { decodeWorkerCells } from "./api-decode-workers";
import type {
  Comparison,
  LanePoints,
  RawEvents,
  RunList,
  Story,
  TrainingInside,
  WorkerCells,
  WorkerQuantity,
} from "./api-types";
import { type Report, report, savedAnswer } from "./report";
import { NOT_SAVED } from "./words";

/** No answer, an answer that says no, or an answer that is not ours. */
export type Failure = "unreachable" | "refused" | "unreadable";

export class ApiError extends Error {
  constructor(
    readonly failure: Failure,
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** Asks again on every call; answers the very same object while nothing has changed. */
export type Source<T> = () => Promise<T>;

/** Keeps the last answer, so an unchanged one is a 304 without a body. */
export function source<T>(url: string, decode: (json: unknown) => T): Source<T> {
  if (report) return savedSource(report, url, decode);
  let known: { etag: string; value: T } | null = null;
  return async () => {
    const headers: HeadersInit = known ? { "If-None-Match": known.etag } : {};
    const response = await ask(url, headers);
    if (response.status === 304 && known) return known.value;
    const json = await body(response);
    if (!response.ok) throw refusal(response.status, json);
    const value = decode(json);
    const etag = response.headers.get("ETag");
    known = etag ? { etag, value } : null;
    return value;
  };
}

/** In a saved report nobody is asked: the answer is there, or was not saved. */
export function savedSource<T>(
  from: Report,
  url: string,
  decode: (json: unknown) => T,
): Source<T> {
  let known: T | null = null;
  return async () => {
    const json = savedAnswer(from, url);
    if (json === undefined) throw new ApiError("refused", 404, "not_found", NOT_SAVED);
    known ??= decode(json);
    return known;
  };
}

/** A server that hangs must not keep us waiting for ever. */
const TIMEOUT_MS = 30_000;

async function ask(url: string, headers: HeadersInit): Promise<Response> {
  try {
    // "no-store": the browser's cache would answer the 304 itself and hide it from us.
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    return await fetch(url, { headers, cache: "no-store", signal });
  } catch (error) {
    throw new ApiError("unreachable", 0, "", String(error));
  }
}

async function body(response: Response): Promise<unknown> {
  try {
    return await response.json();
  } catch (error) {
    // A proxy's error page is not JSON; its status still says what happened.
    if (!response.ok) return null;
    throw new ApiError("unreadable", response.status, "", String(error));
  }
}

function refusal(status: number, json: unknown): ApiError {
  const error = decodeError(json);
  return new ApiError("refused", status, error?.code ?? "", error?.message ?? "");
}

// The addresses are relative: TensorBoard's entry page has a <base> that leads to the
// plugin's routes, also behind --path_prefix.
export function runListSource(): Source<RunList> {
  return source("./runs", decodeRunList);
}

export function storySource(run: string): Source<Story> {
  return source(`./run?${new URLSearchParams({ run })}`, decodeStory);
}

export function trainingSource(run: string): Source<TrainingInside> {
  return source(`./training?${new URLSearchParams({ run })}`, decodeTraining);
}

export function eventsSource(run: string): Source<RawEvents> {
  return source(`./events?${new URLSearchParams({ run })}`, decodeEvents);
}

export function workersSource(
  run: string,
  quantity: WorkerQuantity,
): Source<WorkerCells> {
  const query = new URLSearchParams({ run, quantity });
  return source(`./workers?${query}`, decodeWorkerCells);
}

/** Without `b` the server picks a healthy run; `letter` is what sentences call it. */
export function comparisonSource(
  a: string,
  b: string,
  align: string,
  letter = "b",
): Source<Comparison> {
  const query = new URLSearchParams({ a, ...(b !== "" && { b }), align });
  if (letter !== "b") query.set("letter", letter);
  return source(`./compare?${query}`, decodeComparison);
}

export interface LaneRange {
  axis: "time" | "step";
  from: number;
  to: number;
}

export function laneSource(
  run: string,
  lane: string,
  buckets: number,
  range: LaneRange | null,
): Source<LanePoints> {
  const query = new URLSearchParams({ run, lane, buckets: String(buckets) });
  if (range) {
    query.set("axis", range.axis);
    query.set("from", String(range.from));
    query.set("to", String(range.to));
  }
  return source(`./lane?${query}`, decodeLane);
}
