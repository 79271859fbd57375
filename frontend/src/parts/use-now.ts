// The time, told again every so often while the tab can be seen.
import { useEffect, useState } from "preact/hooks";
import { report } from "../report";
import { visible } from "../state";

/** Seconds since the epoch. */
export function useNow(everySeconds: number): number {
  // In a saved report time stands still.
  const [now, setNow] = useState(() => report?.madeAt ?? Date.now() / 1000);
  useEffect(() => {
    if (report) return;
    const timer = setInterval(() => {
      if (visible.peek()) setNow(Date.now() / 1000);
    }, everySeconds * 1000);
    return () => clearInterval(timer);
  }, [everySeconds]);
  return now;
}
