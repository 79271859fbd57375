// Says where the cursor is and what the lanes show there, for those who cannot see it.
import type { Signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { LaneInfo, Maybe } from "../api-types";
import { quantity } from "../format";
import type { Axis } from "../url-state";
import type { LaneStore } from "./lane-store";
import { axisPlace } from "./tick-text";
import { trackOf, valueAt } from "./track";

interface Props {
  lanes: readonly LaneInfo[];
  store: LaneStore;
  axis: Axis;
  startedAt: Maybe<number>;
  cursor: Signal<Maybe<number>>;
}

/** Only once the cursor rests: each word said while it moves would be cut off. */
const RESTS_AFTER_MS = 400;

export function SpokenCursor({ lanes, store, axis, startedAt, cursor }: Props) {
  const x = cursor.value;
  const [spoken, setSpoken] = useState("");
  // Only `x`: new data under a resting cursor must not speak.
  useEffect(() => {
    if (x === null) {
      setSpoken("");
      return;
    }
    const timer = setTimeout(() => {
      const values = lanes.flatMap((lane) => {
        const points = store.points(lane.id).peek();
        if (!points) return [];
        const track = trackOf(lane, points, axis, startedAt);
        return [`${lane.title} ${quantity(lane.unit, valueAt(track, 0, x))}`];
      });
      setSpoken(`${axisPlace(axis, x)}: ${values.join(", ")}`);
    }, RESTS_AFTER_MS);
    return () => clearTimeout(timer);
  }, [x]);
  return (
    <p class="unseen" aria-live="polite">
      {spoken}
    </p>
  );
}
