// Keeps one chart on the screen: made once, moved along, drawn anew for a new theme.
import type { Signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Maybe } from "../api-types";
import { dark } from "../state";
import {
  createLanePlot,
  type LaneLook,
  type LanePlot,
  type PlotEvents,
  type PlotModel,
} from "./lane-plot";
import type { Range } from "./scale";

interface PlotTargets {
  cursor: Signal<Maybe<number>>;
  onZoom(range: Maybe<Range>): void;
}

/** Makes the chart once and moves it along; a new chart would flicker. */
export function usePlot(
  targets: PlotTargets,
  model: PlotModel,
  height: number,
  log: boolean,
  look?: LaneLook,
) {
  const element = useRef<HTMLDivElement>(null);
  const plot = useRef<LanePlot | null>(null);
  const latest = useRef({ targets, model });
  latest.current = { targets, model };
  const drawn = useRef({ inSight: true, track: model.track, isOld: false });
  const columns = model.lane.series.map((series) => series.column).join();

  // `columns` stands for the series: the same columns are the same chart.
  useLayoutEffect(() => {
    const parent = element.current;
    if (!parent) return;
    const events: PlotEvents = {
      onCursor: (x) => {
        latest.current.targets.cursor.value = x;
      },
      onZoom: (range) => latest.current.targets.onZoom(range),
    };
    const first = latest.current.model;
    const created = createLanePlot(parent, height, log, first, events, look);
    plot.current = created;
    const observer = new ResizeObserver(() => created.resize(parent.clientWidth));
    observer.observe(parent);
    const unwatch = watchSight(parent, (inSight) => {
      drawn.current.inSight = inSight;
      if (!inSight || !drawn.current.isOld) return;
      drawn.current.isOld = false;
      created.update(latest.current.model);
    });
    return () => {
      observer.disconnect();
      unwatch();
      plot.current = null;
      created.destroy();
    };
  }, [height, log, columns, look]);

  const { track, range, fit } = model;
  useLayoutEffect(() => {
    const { inSight, track: before } = drawn.current;
    // Half of the lanes lie below the screen: a zoom moves them when they come up.
    drawn.current.isOld = !inSight && track === before;
    if (drawn.current.isOld) return;
    drawn.current.track = track;
    plot.current?.update(latest.current.model);
  }, [track, range[0], range[1], fit, log, height]);

  const isDark = dark.value;
  // The colours are read while drawing, so a new theme only needs a new drawing.
  useEffect(() => plot.current?.redraw(), [isDark]);

  return element;
}

/** Says whether an element is near the screen, and that all is when it is printed. */
function watchSight(element: Element, tell: (inSight: boolean) => void): () => void {
  if (typeof IntersectionObserver === "undefined") return () => {};
  const observer = new IntersectionObserver(
    (entries) => tell(entries.at(-1)?.isIntersecting ?? true),
    { rootMargin: "200px 0px" },
  );
  observer.observe(element);
  const onPrint = () => tell(true);
  addEventListener("beforeprint", onPrint);
  return () => {
    observer.disconnect();
    removeEventListener("beforeprint", onPrint);
  };
}
