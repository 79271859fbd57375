// The time, told again every so often while the tab can be seen.
import { useEffect, useState } from "preact/hooks";
import { visible } from "../state";

/** Seconds since the epoch. */
export function useNow(everySeconds: number): number {
  const [now, setNow] = useState(() => Date.now() / 1000);
  useEffect(() => {
    const timer = setInterval(() => {
      if (visible.peek()) setNow(Date.now() / 1000);
    }, everySeconds * 1000);
    return () => clearInterval(timer);
  }, [everySeconds]);
  return now;
}
