// Two runs side by side: where they part, what differs, and what was set differently.
import { useEffect, useMemo, useRef } from "preact/hooks";
import { comparisonSource } from "../api";
import type { Comparison, Maybe } from "../api-types";
import { createFeed, type Feed } from "../feed";
import { CompareTimeline, lanesOf, type Stores } from "../lanes/compare-timeline";
import { createLaneStore } from "../lanes/lane-store";
import { Diamond } from "../parts/glyph";
import { NavLink } from "../parts/nav-link";
import { StaleBar } from "../parts/stale-bar";
import { useFresh } from "../parts/use-fresh";
import { isLive } from "../run-tone";
import { comparePlace, nav, open, runList } from "../state";
import { COMPARE_TITLE } from "../words";
import { ComparedRuns } from "./compare-runs";
import { ComparedSettings } from "./compare-settings";
import { ComparedSignals } from "./compare-signals";

const LIVE_EVERY_SECONDS = 10;
/** Ended runs may be started again. */
const ENDED_EVERY_SECONDS = 30;

function every(comparison: Maybe<Comparison>): number {
  const runs = comparison ? [comparison.a, comparison.b] : [];
  const live = runs.some((run) => run && isLive(run.state));
  return live ? LIVE_EVERY_SECONDS : ENDED_EVERY_SECONDS;
}

export function CompareView() {
  const { a, b, align } = nav.value;
  const feed = useMemo(() => createFeed(comparisonSource(a, b, align)), [a, b, align]);
  useFresh(feed, every);
  // For the pickers.
  useFresh(runList, () => ENDED_EVERY_SECONDS);
  const unknown = feed.error.value?.status === 404;
  const comparison = useLatest(feed, a, b);
  const other = comparison?.b?.name ?? b;
  return (
    <main class="page">
      {!unknown && <StaleBar feed={feed} />}
      <nav class="crumb" aria-label="Place">
        <NavLink to={{ view: "runs" }}>
          <span aria-hidden="true">‹</span> All runs
        </NavLink>
        <h1>{COMPARE_TITLE}</h1>
        <span class="space" />
        {other !== "" && (
          <button
            type="button"
            class="button"
            onClick={() => open(comparePlace(other, a))}
          >
            Swap
          </button>
        )}
      </nav>
      {unknown ? (
        <p class="nothing-found">
          {feed.error.value?.message}{" "}
          <NavLink to={{ view: "runs" }}>Show all runs</NavLink>
        </p>
      ) : (
        <Body comparison={comparison} />
      )}
    </main>
  );
}

/** The answer, or the one before it while another alignment of the same runs loads. */
function useLatest(feed: Feed<Comparison>, a: string, b: string): Maybe<Comparison> {
  const before = useRef<Maybe<Comparison>>(null);
  const now = feed.data.value;
  if (now) before.current = now;
  const known = before.current;
  const same = known?.a.name === a && (b === "" || known.b?.name === b);
  return now ?? (same ? known : null);
}

function Body({ comparison }: { comparison: Maybe<Comparison> }) {
  if (!comparison) return <div class="verdict skeleton-card" aria-hidden="true" />;
  return (
    <>
      <ComparedRuns comparison={comparison} />
      <section class="verdict muted comparison" aria-label="Comparison">
        <header>
          <Diamond size={20} />
          <div class="verdict-words">
            <h2 aria-live="polite">{comparison.headline}</h2>
            {comparison.summary !== "" && <p>{comparison.summary}</p>}
            {comparison.note !== null && <p>{comparison.note}</p>}
          </div>
        </header>
        {comparison.clocks && (
          <div class="reasons">
            <ComparedSignals comparison={comparison} />
            <ComparedSettings comparison={comparison} />
          </div>
        )}
      </section>
      <SideBySide comparison={comparison} />
    </>
  );
}

function SideBySide({ comparison }: { comparison: Comparison }) {
  const { a, b, lanes, clocks } = comparison;
  const other = b?.name ?? "";
  const stores: Stores = useMemo(
    () => ({ a: createLaneStore(a.name), b: createLaneStore(other) }),
    [a.name, other],
  );
  // The comparison first, its lanes second; an unchanged one is the same object.
  useEffect(() => {
    stores.a.refresh(lanesOf(lanes, "a"));
    stores.b.refresh(lanesOf(lanes, "b"));
  }, [comparison, stores]);
  if (!clocks || lanes.length === 0) return null;
  return <CompareTimeline comparison={comparison} clocks={clocks} stores={stores} />;
}
