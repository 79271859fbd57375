// The story of one run: the verdict, the timeline, the incidents, the rest.
import { useSignalEffect } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { storySource, trainingSource } from "../api";
import type { Evidence, Maybe, RunRow, Story, TrainingInside } from "../api-types";
import { createFeed, type Feed } from "../feed";
import { createLaneStore, type LaneStore } from "../lanes/lane-store";
import { placeOf } from "../lanes/run-clock";
import { around } from "../lanes/scale";
import { Timeline } from "../lanes/timeline";
import { rangesOf } from "../lanes/use-ranges";
import { NavLink } from "../parts/nav-link";
import { StaleBar } from "../parts/stale-bar";
import { useFresh } from "../parts/use-fresh";
import { useNow } from "../parts/use-now";
import { report } from "../report";
import { isLive } from "../run-tone";
import { adjust, comparePlace, lit, nav } from "../state";
import { COMPARE_WITH_HEALTHY, noSuchRun, runSummary, signOfLife } from "../words";
import { Attempts, FurtherFindings, NotRecorded, Settings, Tuning } from "./details";
import { ExportMenu } from "./export-menu";
import { Incidents } from "./incidents";
import { Inside } from "./inside";
import { Snippet } from "./start";
import { VerdictCard } from "./verdict-card";
import { WorkerMap } from "./worker-map";
import { WorkersCard } from "./workers";

const LIVE_EVERY_SECONDS = 10;
/** An ended run may be started again. */
const ENDED_EVERY_SECONDS = 30;

function every(story: Maybe<Story>): number {
  return story && !isLive(story.run.state) ? ENDED_EVERY_SECONDS : LIVE_EVERY_SECONDS;
}

export function RunView({ name }: { name: string }) {
  const feed = useMemo(() => createFeed(storySource(name)), [name]);
  const store = useMemo(() => createLaneStore(name), [name]);
  const inside = useMemo(() => createFeed(trainingSource(name)), [name]);
  useFresh(feed, every);
  // The story first, its lanes second; an unchanged story is the same object.
  useSignalEffect(() => {
    const lanes = feed.data.value?.lanes ?? [];
    store.refresh(lanes.map((lane) => lane.id));
    if (feed.data.value?.run.monitored) void inside.refresh();
  });
  const unknown = feed.error.value?.status === 404;
  return (
    <main class="page">
      {!unknown && <StaleBar feed={feed} />}
      <nav class="crumb" aria-label="Place">
        <NavLink to={{ view: "runs" }}>
          <span aria-hidden="true">‹</span> All runs
        </NavLink>
        <h1 title={name}>{name}</h1>
        <span class="space" />
        {feed.data.value?.run.monitored && !report && (
          <NavLink to={comparePlace(name)} class="button">
            {COMPARE_WITH_HEALTHY}
          </NavLink>
        )}
        {feed.data.value && (
          <ExportMenu
            runs={[name]}
            told={feed.data.value}
            summary={runSummary(feed.data.value)}
          />
        )}
      </nav>
      <RunBody
        name={name}
        feed={feed}
        store={store}
        inside={inside.data.value}
        unknown={unknown}
      />
    </main>
  );
}

interface BodyProps {
  name: string;
  feed: Feed<Story>;
  store: LaneStore;
  inside: Maybe<TrainingInside>;
  unknown: boolean;
}

function RunBody({ name, feed, store, inside, unknown }: BodyProps) {
  const story = feed.data.value;
  if (unknown) {
    return (
      <p class="nothing-found">
        {noSuchRun(name)} <NavLink to={{ view: "runs" }}>Show all runs</NavLink>
      </p>
    );
  }
  if (!story) return <div class="verdict skeleton-card" aria-hidden="true" />;
  return <RunStory story={story} store={store} inside={inside} />;
}

function RunStory({
  story,
  store,
  inside,
}: Pick<BodyProps, "store" | "inside"> & { story: Story }) {
  const { run } = story;
  const hasLanes = story.lanes.length > 0;
  const onShow = hasLanes ? (item: Evidence) => show(item, story, store) : null;
  return (
    <>
      <ChangedVerdict headline={story.verdict?.headline ?? run.headline} />
      <VerdictCard
        run={run}
        verdict={story.verdict}
        live={isLive(run.state) && <SignOfLife run={run} />}
        onShow={onShow}
      />
      {hasLanes && <Timeline story={story} store={store} inside={inside} />}
      {!hasLanes && run.monitored && (
        <p class="quiet">No samples were recorded for this run.</p>
      )}
      {!run.monitored && <Snippet />}
      <FurtherFindings
        verdict={story.verdict}
        findings={story.findings}
        onShow={onShow}
      />
      <WorkerMap story={story} />
      <WorkersCard workers={story.workers} />
      <NotRecorded items={story.not_measured} />
      <Tuning story={story} />
      <Incidents story={story} />
      <Attempts attempts={story.attempts} />
      {run.monitored && <Inside run={run.name} inside={inside} />}
      <Settings settings={story.settings} />
    </>
  );
}

/** Zooms to the place of the evidence and brings its lane into sight. */
function show(item: Evidence, story: Story, store: LaneStore): void {
  const lane = item.lane ?? story.lanes[0]?.id ?? "";
  const points = store.points(lane).peek();
  const { axis, clock, full } = rangesOf(story, points, nav.peek().axis, null);
  const x = placeOf(item, axis, clock);
  if (x !== null) adjust({ axis, range: around(x, 0.32, full) });
  lit.value = { lane, x };
  const element = [...document.querySelectorAll<HTMLElement>("[data-lane]")].find(
    (candidate) => candidate.dataset.lane === lane,
  );
  element?.scrollIntoView({ block: "center" });
}

function SignOfLife({ run }: { run: RunRow }) {
  const now = useNow(1);
  if (run.last_seen_at === null) return null;
  const { quiet, sentence } = signOfLife(run.state, now - run.last_seen_at);
  return <p class={quiet ? "sign-of-life quiet" : "sign-of-life"}>{sentence}</p>;
}

/** Says a new headline once, without moving the focus. The first one is read anyway. */
function ChangedVerdict({ headline }: { headline: string }) {
  const first = useRef(headline);
  const [said, setSaid] = useState("");
  useEffect(() => {
    if (headline === first.current) return;
    first.current = headline;
    setSaid(headline);
  }, [headline]);
  return (
    <p class="unseen" aria-live="polite">
      {said}
    </p>
  );
}
