// One answer of the server that is kept fresh: its data, its age and its last failure.
import { effect, type ReadonlySignal, signal } from "@preact/signals";
import { ApiError, type Source } from "./api";
import type { Maybe } from "./api-types";

export interface Feed<T> {
  readonly data: ReadonlySignal<Maybe<T>>;
  readonly error: ReadonlySignal<Maybe<ApiError>>;
  /** When the data came, in seconds since the epoch by the browser's clock. */
  readonly receivedAt: ReadonlySignal<Maybe<number>>;
  /** How many times in a row asking failed. */
  readonly failures: ReadonlySignal<number>;
  refresh(): Promise<void>;
}

export function createFeed<T>(
  source: Source<T>,
  now: () => number = () => Date.now() / 1000,
): Feed<T> {
  const data = signal<Maybe<T>>(null);
  const error = signal<Maybe<ApiError>>(null);
  const receivedAt = signal<Maybe<number>>(null);
  const failures = signal(0);
  let asking: Promise<void> | null = null;

  async function ask(): Promise<void> {
    try {
      data.value = await source();
      receivedAt.value = now();
      error.value = null;
      failures.value = 0;
    } catch (problem) {
      error.value =
        problem instanceof ApiError
          ? problem
          : new ApiError("unreadable", 0, "", String(problem));
      failures.value += 1;
    } finally {
      asking = null;
    }
  }

  return {
    data,
    error,
    receivedAt,
    failures,
    refresh() {
      asking ??= ask();
      return asking;
    },
  };
}

const FIRST_RETRY_SECONDS = 2;
const LAST_RETRY_SECONDS = 60;

/** 2, 4, 8 … 60 s: a server that is restarting is found soon, a dead one left alone. */
export function retryDelay(failures: number): number {
  return Math.min(LAST_RETRY_SECONDS, FIRST_RETRY_SECONDS * 2 ** (failures - 1));
}

export interface Rhythm {
  /** Seconds until the next question while all is well; null asks only on reload. */
  every(): Maybe<number>;
  visible: ReadonlySignal<boolean>;
  /** Changes whenever TensorBoard says it has new data. */
  reloads: ReadonlySignal<number>;
}

/** Keeps a feed fresh until the returned function is called. */
export function keepFresh<T>(feed: Feed<T>, rhythm: Rhythm): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let stopped = false;

  async function turn(): Promise<void> {
    clearTimeout(timer);
    await feed.refresh();
    clearTimeout(timer);
    if (stopped || !rhythm.visible.peek()) return;
    const failures = feed.failures.peek();
    const seconds = failures > 0 ? retryDelay(failures) : rhythm.every();
    if (seconds !== null) timer = setTimeout(() => void turn(), seconds * 1000);
  }

  const unsubscribe = effect(() => {
    rhythm.reloads.value;
    if (rhythm.visible.value) void turn();
    else clearTimeout(timer);
  });
  return () => {
    stopped = true;
    clearTimeout(timer);
    unsubscribe();
  };
}
