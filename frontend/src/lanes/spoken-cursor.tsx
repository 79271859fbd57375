// Says where the cursor is and what the lanes show there, for those who cannot see it.
import type { Signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { Maybe } from "../api-types";

interface Props {
  cursor: Signal<Maybe<number>>;
  /** What is to be said of a place. */
  say(x: number): string;
}

/** Only once the cursor rests: each word said while it moves would be cut off. */
const RESTS_AFTER_MS = 400;

export function SpokenCursor({ cursor, say }: Props) {
  const x = cursor.value;
  const [spoken, setSpoken] = useState("");
  // Only `x`: new data under a resting cursor must not speak.
  useEffect(() => {
    if (x === null) {
      setSpoken("");
      return;
    }
    const timer = setTimeout(() => setSpoken(say(x)), RESTS_AFTER_MS);
    return () => clearTimeout(timer);
  }, [x]);
  return (
    <p class="unseen" aria-live="polite">
      {spoken}
    </p>
  );
}
