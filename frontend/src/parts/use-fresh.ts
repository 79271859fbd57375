// Keeps a feed fresh while a view that shows it is open.
import { useEffect } from "preact/hooks";
import { type Feed, keepFresh } from "../feed";
import { reloads, visible } from "../state";

export function useFresh<T>(feed: Feed<T>, every: (data: T | null) => number): void {
  useEffect(
    () => keepFresh(feed, { every: () => every(feed.data.peek()), visible, reloads }),
    [feed],
  );
}
