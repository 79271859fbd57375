// Runs side by side: where they part, what differs, and what was set differently.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { comparisonSource } from "../api";
import type { Comparison, Maybe } from "../api-types";
import { createFeed, type Feed, keepFresh } from "../feed";
import { CompareTimeline } from "../lanes/compare-timeline";
import { groupOf, lanesOfRun } from "../lanes/compared-group";
import { createLaneStore } from "../lanes/lane-store";
import { Badge, letterOf } from "../parts/badge";
import { Diamond } from "../parts/glyph";
import { NavLink } from "../parts/nav-link";
import { StaleBar } from "../parts/stale-bar";
import { useFresh } from "../parts/use-fresh";
import { report } from "../report";
import { isLive } from "../run-tone";
import { comparePlace, nav, open, reloads, runList, visible } from "../state";
import { compareTitle, comparisonSummary } from "../words";
import { ComparedRuns } from "./compare-runs";
import { ComparedSettings } from "./compare-settings";
import { ComparedSignals } from "./compare-signals";
import { ExportMenu } from "./export-menu";

const LIVE_EVERY_SECONDS = 10;
/** Ended runs may be started again. */
const ENDED_EVERY_SECONDS = 30;

function every(comparison: Maybe<Comparison>): number {
  const runs = comparison ? [comparison.a, comparison.b] : [];
  const live = runs.some((run) => run && isLive(run.state));
  return live ? LIVE_EVERY_SECONDS : ENDED_EVERY_SECONDS;
}

export function CompareView() {
  const { a, b, more, align } = nav.value;
  const others = [b, ...more];
  const key = JSON.stringify([a, ...others, align]);
  const feeds = useMemo(
    () =>
      others.map((other, at) =>
        createFeed(comparisonSource(a, other, align, letterOf(at + 1))),
      ),
    [key],
  );
  useAllFresh(feeds, every);
  // For the pickers.
  useFresh(runList, () => ENDED_EVERY_SECONDS);
  const failed = feeds.find((feed) => feed.error.value?.status === 404);
  const comparisons = useLatest(feeds, a, others);
  const other = comparisons[0]?.b?.name ?? b;
  const runs = [a, ...comparisons.flatMap((one) => one.b?.name ?? [])];
  return (
    <main class="page">
      {!failed && feeds[0] && <StaleBar feed={feeds[0]} />}
      <nav class="crumb" aria-label="Place">
        <NavLink to={{ view: "runs" }}>
          <span aria-hidden="true">‹</span> All runs
        </NavLink>
        <h1>{compareTitle(others.length + 1)}</h1>
        <span class="space" />
        {other !== "" && !report && (
          <button
            type="button"
            class="button"
            onClick={() => open(comparePlace(other, a, ...more))}
          >
            Swap
          </button>
        )}
        {comparisons.length > 0 && (
          <ExportMenu
            runs={runs}
            told={comparisons}
            summary={comparisonSummary(comparisons)}
          />
        )}
      </nav>
      {failed ? (
        <p class="nothing-found">
          {failed.error.value?.message}{" "}
          <NavLink to={{ view: "runs" }}>Show all runs</NavLink>
        </p>
      ) : (
        <Body comparisons={comparisons} />
      )}
    </main>
  );
}

function useAllFresh(
  feeds: readonly Feed<Comparison>[],
  often: (data: Maybe<Comparison>) => number,
): void {
  useEffect(() => {
    const stops = feeds.map((feed) =>
      keepFresh(feed, { every: () => often(feed.data.peek()), visible, reloads }),
    );
    return () => {
      for (const stop of stops) stop();
    };
  }, [feeds]);
}

/** The answers, or those before them while another alignment of the same runs loads. */
function useLatest(
  feeds: readonly Feed<Comparison>[],
  a: string,
  others: readonly string[],
): Comparison[] {
  const before = useRef<Comparison[]>([]);
  const now = feeds.flatMap((feed) => feed.data.value ?? []);
  if (now.length === feeds.length) before.current = now;
  const known = before.current;
  const same = others.every((b, at) => {
    const one = known[at];
    return one?.a.name === a && (b === "" || one.b?.name === b);
  });
  return same && known.length === others.length ? known : now;
}

function Body({ comparisons }: { comparisons: readonly Comparison[] }) {
  // Which of the pairs is told in words; the first unless chosen.
  const [chosen, setChosen] = useState("");
  const at = Math.max(
    0,
    comparisons.findIndex((one) => one.b?.name === chosen),
  );
  const told = comparisons[at];
  if (!told) return <div class="verdict skeleton-card" aria-hidden="true" />;
  return (
    <>
      <ComparedRuns comparisons={comparisons} />
      <section class="verdict muted comparison" aria-label="Comparison">
        <header>
          <Diamond size={20} />
          <div class="verdict-words">
            <h2 aria-live="polite">{told.headline}</h2>
            {told.summary !== "" && <p>{told.summary}</p>}
            {told.note !== null && <p>{told.note}</p>}
          </div>
        </header>
        {comparisons.length > 1 && (
          <Pairs comparisons={comparisons} told={at} onChoose={setChosen} />
        )}
        {told.clocks && (
          <div class="reasons">
            <ComparedSignals comparison={told} letter={letterOf(at + 1)} />
            <ComparedSettings told={told} comparisons={comparisons} />
          </div>
        )}
      </section>
      <SideBySide told={told} comparisons={comparisons} />
    </>
  );
}

/** A with each of the others, a line for each: choosing one tells it in full. */
function Pairs(props: {
  comparisons: readonly Comparison[];
  told: number;
  onChoose(name: string): void;
}) {
  return (
    <fieldset class="pairs">
      <legend class="unseen">Tell how A differs from</legend>
      {props.comparisons.map((one, at) => (
        <button
          key={letterOf(at + 1)}
          type="button"
          class="pair"
          aria-pressed={at === props.told}
          onClick={() => props.onChoose(one.b?.name ?? "")}
        >
          <Badge letter={letterOf(at + 1)} />
          <span>{one.headline}</span>
        </button>
      ))}
    </fieldset>
  );
}

function SideBySide(props: { told: Comparison; comparisons: readonly Comparison[] }) {
  const group = useMemo(() => groupOf(props.comparisons), [...props.comparisons]);
  const names = JSON.stringify(group?.runs.map((run) => run.name) ?? []);
  const stores = useMemo(
    () => (group?.runs ?? []).map((run) => createLaneStore(run.name)),
    [names],
  );
  // The comparison first, its lanes second; an unchanged one is the same object.
  useEffect(() => {
    if (!group) return;
    stores.forEach((store, run) => {
      store.refresh(lanesOfRun(group, run));
    });
  }, [group, stores]);
  if (!group || group.lanes.length === 0) return null;
  return <CompareTimeline comparison={props.told} group={group} stores={stores} />;
}
