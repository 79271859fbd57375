// Every sentence the tab says itself, so wording is in one place and can be tested.
//
// Rules: sentence case, past tense for the past, no blame, no exclamation marks; name
// the thing first, then the number.
import type { ApiError } from "./api";
import type {
  Comparison,
  Confidence,
  Epoch,
  Finding,
  LaneInfo,
  Layer,
  Maybe,
  NotMeasured,
  Phase,
  Place,
  Reading,
  RunRow,
  RunState,
  Silenced,
  Story,
  Tuned,
  Unit,
  WorkerPart,
} from "./api-types";
import { clockTime, dateAndTime, decimal, duration, integer, quantity } from "./format";

export const TAB_TITLE = "Training Health";

export const COLUMN_TITLES = {
  health: "Health",
  run: "Run",
  steps: "Steps",
  ran: "Ran for",
  memory: "Peak memory",
  gpu: "GPU busy",
  wait: "Waiting for data",
  started: "Started",
} as const;

export const FILTER_TITLES = {
  all: "All",
  failed: "Failed",
  stuck: "Stuck",
  warnings: "Warnings",
  running: "Running",
  early: "Ended early",
  unknown: "Cause unknown",
  healthy: "Finished",
  unmonitored: "Not monitored",
} as const;

export const AXIS_TITLES = {
  step: "Step",
  rel: "Time since start",
  wall: "Clock",
} as const;

export const ALIGN_TITLES = {
  step: "Same step",
  time: "Same time since start",
  epoch: "Same epoch",
  end: "From the end",
} as const;

export function compareTitle(count: number): string {
  return `Compare ${count <= 2 ? "two" : integer(count)} runs`;
}

export const COMPARE_WITH_HEALTHY = "Compare with a healthy run";
export const PICK_HEALTHY = "A healthy run, picked for you";
export const FIRST_DIFFERENCE = "First difference";
export const MAIN_DIFFERENCE = "Main difference";
/** A setting that one of the runs did not say. */
export const NOT_SEEN = "not seen";

export const CONFIDENCE_WORDS: Record<Confidence, string> = {
  proven: "Proven",
  likely: "Likely",
  possible: "Possible",
};

const STATE_WORDS: Record<RunState, string> = {
  running: "Running",
  stuck: "Stuck",
  finished: "Finished",
  ended_early: "Ended early",
  failed: "Failed",
  died: "Died",
  unknown: "Ended, cause unknown",
};

/** What to paste, by what somebody has. */
export const SNIPPETS = {
  Keras: `from tb_health_plugin import HealthCallback

model.fit(ds, epochs=8, callbacks=[HealthCallback("logs/my_run")])`,
  "Your own loop": `import tb_health_plugin

with tb_health_plugin.watch("logs/my_run") as health:
    for x, y in health.dataset(ds):
        health.step(loss=train_step(x, y))`,
  "No line at all": `tb-health run --logdir logs/my_run train.py`,
} as const;
export type SnippetName = keyof typeof SNIPPETS;
export const SNIPPET_NAMES = Object.keys(SNIPPETS) as SnippetName[];

export function stateWord(state: Maybe<RunState>): string {
  return state === null ? "Not monitored" : STATE_WORDS[state];
}

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${integer(count)} ${count === 1 ? one : many}`;
}

/** The sentence below the headline when there is nothing to explain. */
export function calmSentence(run: RunRow): string {
  switch (run.state) {
    case "running":
      return "This page follows the run by itself.";
    case "finished":
      return "It ran to its planned end, and nothing that was measured looks wrong.";
    case null:
      return "Add one line to the training script, and this page will say what the run is doing and, if it stops, why.";
    default:
      return "Nothing that was recorded explains it.";
  }
}

/** A run whose end is known, and nothing else yet. */
export const BEING_JUDGED = "Being judged";

export function readingSentence(reading: Reading, rows: number): string {
  const { runs_read: read, runs_found: found, runs_judged: judged } = reading;
  return read < found
    ? `Reading event files: ${integer(read)} of ${counted(found, "run")}`
    : `Looking for causes: ${integer(judged)} of ${counted(rows, "run")}`;
}

export const NOT_SAVED = "This is not part of the saved report.";

export function savedSentence(madeAt: number): string {
  return `Saved report of ${dateAndTime(madeAt)}. It shows the runs as they were then.`;
}

export const WORKER_QUANTITIES = {
  step_seconds: "Time per step",
  data_wait: "Waiting for data",
  memory: "Memory",
} as const;

export const WORKER_MAP_TITLE = "Workers over time";

/** What a row of the map says to those who cannot see it. */
export function workerRange(unit: Unit, low: number, high: number): string {
  const [from, to] = [quantity(unit, low), quantity(unit, high)];
  return from === to ? from : `${from} to ${to}`;
}

export const WORKER_PARTS: Record<WorkerPart, string> = {
  root: "It began here",
  same: "The same happened here",
  consequence: "A consequence",
  fine: "Nothing wrong",
  "no record": "Left no record here",
};

export function workersTitle(size: number): string {
  return `${counted(size, "worker")} that trained together`;
}

export function attemptsWords(count: number): string {
  return counted(count, "attempt");
}

export function rowsShown(shown: number, total: number): string {
  return shown === total
    ? `${counted(total, "row")}: all in sight.`
    : `${integer(shown)} of ${counted(total, "row")} in sight, evenly spread. The CSV under Export has all.`;
}

export function otherThreads(count: number): string {
  return `${counted(count, "other thread")} outside of your code`;
}

export function callsInside(count: number, name: string): string {
  return `${counted(count, "call")} inside ${name}`;
}

export function eventsShown(shown: number, total: number): string {
  return shown === total
    ? `${counted(total, "event")} as recorded, oldest first.`
    : `The newest ${integer(shown)} of ${counted(total, "event")}, oldest first.`;
}

/** What the heat map says to someone who cannot see it. */
export function heatMapLabel(layers: readonly Layer[]): string {
  const last = layers.map((layer) => {
    const norm = layer.gradient_norms.at(-1) ?? null;
    return `${layer.name} ${norm === null ? "none" : decimal(norm)}`;
  });
  return `Gradient norm of ${counted(layers.length, "layer")} at the last look: ${last
    .slice(0, 40)
    .join(", ")}`;
}

export function comparisonSummary(comparisons: readonly Comparison[]): string {
  const lines = comparisons.flatMap(({ a, b, headline, summary, try_first: tip }) => [
    `**${headline}**`,
    `A: ${a.name}, B: ${b?.name ?? "none"}. ${summary}`,
    ...(tip ? [`To try first: ${tip.setting}. ${tip.why}`] : []),
  ]);
  return lines.join("\n");
}

/** Six lines of Markdown for an issue or a chat. */
export function runSummary({ run, verdict }: Story): string {
  const fix = verdict?.fixes[0];
  const lines = [
    `**${verdict?.headline ?? run.headline}**`,
    `Run: ${run.name}`,
    verdict &&
      `Confidence: ${CONFIDENCE_WORDS[verdict.confidence]}. ${verdict.because}`,
    ...(verdict?.evidence.slice(0, 3).map((item) => `- ${item.text}`) ?? []),
    fix && `To try first: ${fix.title}. ${fix.why}`,
    fix?.code && `\`\`\`\n${fix.code}\n\`\`\``,
  ];
  return lines.filter(Boolean).join("\n");
}

export const STILL_WAITING = "Waiting for TensorBoard to answer.";

export function failureSentence(error: ApiError, receivedAt: Maybe<number>): string {
  const showing =
    receivedAt === null ? "" : ` Showing data from ${clockTime(receivedAt)}.`;
  if (error.failure === "unreachable") return `TensorBoard did not answer.${showing}`;
  const reason = error.message === "" ? "" : `: ${error.message.replace(/\.$/, "")}`;
  return `TensorBoard answered with an error (${error.status})${reason}.${showing}`;
}

export function noSuchRun(name: string): string {
  return `There is no run called “${name}”.`;
}

export function noRunsSentence(logdirs: readonly string[]): string {
  return `TensorBoard is reading ${placesRead(logdirs)}.`;
}

export function placesRead(logdirs: readonly string[]): string {
  return logdirs.length === 0 ? "its log directory" : logdirs.join(", ");
}

export function noneMonitored(runs: number): string {
  return runs === 1
    ? "1 run found, without health data"
    : `${counted(runs, "run")} found, none of them with health data`;
}

export function problemsTitle(count: number): string {
  return `${counted(count, "file")} could not be read completely`;
}

/** Three missed periods at the usual pace of recording; a shorter pause is ordinary. */
const QUIET_AFTER_SECONDS = 30;

export interface SignOfLife {
  quiet: boolean;
  sentence: string;
}

export function signOfLife(state: Maybe<RunState>, ageSeconds: number): SignOfLife {
  const age = duration(Math.max(0, Math.round(ageSeconds)));
  if (ageSeconds >= QUIET_AFTER_SECONDS) {
    return { quiet: true, sentence: `No sign of life for ${age}` };
  }
  // A stuck run is alive, but "live" would promise progress.
  const word = state === "stuck" ? "The process is alive." : "Live.";
  return { quiet: false, sentence: `${word} Last sign of life ${age} ago` };
}

export function notRecorded(item: NotMeasured): string {
  return item.why === "" ? item.what : `${item.what} (${item.why})`;
}

/** The place, its line of code first: "train.py, line 41, layer dense_2". */
export function placeWords(place: Place): string {
  const { file, line, ...others } = place;
  const parts = [
    ...(file === undefined ? [] : [String(file)]),
    ...(line === undefined ? [] : [`line ${line}`]),
    ...Object.entries(others).map(([name, part]) => {
      const label = name.replace(/_/g, " ");
      // A worker is called "worker 1" already.
      return String(part).startsWith(label) ? String(part) : `${label} ${part}`;
    }),
  ];
  return parts.join(", ");
}

export function comesFrom(cause: Finding): string {
  return `comes from: ${cause.headline}`;
}

export function silencedWords({ rule, by }: Silenced): string {
  const whose = by === "run" ? "the run" : "the log directory";
  return `Not judged: ${rule.replace(/_/g, " ")} (silenced by ${whose})`;
}

export function tunedWords({ name, value, default: usual, by }: Tuned): string {
  const whose = by === "run" ? "the run" : "the log directory";
  return `Judged with ${name} ${decimal(value)} instead of ${decimal(usual)} (set by ${whose})`;
}

export function moreNotRecorded(count: number): string {
  return `${integer(count)} more that ${count === 1 ? "was" : "were"} not recorded`;
}

export function stepWords(step: number): string {
  return `step ${integer(step)}`;
}

export function epochTooltip(epoch: Epoch): string {
  const steps =
    epoch.first_step === null || epoch.last_step === null
      ? ""
      : `: steps ${integer(epoch.first_step)} to ${integer(epoch.last_step)}`;
  const metrics = Object.entries(epoch.metrics).flatMap(([name, value]) =>
    value === null ? [] : [`${name} ${decimal(value)}`],
  );
  return [`Epoch ${epoch.epoch}${steps}`, ...metrics].join("\n");
}

export function phaseTooltip(phase: Phase): string {
  return `${phase.what}: ${duration(phase.to_time - phase.from_time)}`;
}

export interface LaneSummary {
  lowest: Maybe<number>;
  highest: Maybe<number>;
  last: Maybe<number>;
}

/** What a chart says to someone who cannot see it. */
export function laneLabel(lane: LaneInfo, summary: LaneSummary): string {
  if (summary.highest === null) return `${lane.title}: no samples in this range`;
  const said = (value: Maybe<number>) => quantity(lane.unit, value);
  return `${lane.title}: lowest ${said(summary.lowest)}, highest ${said(
    summary.highest,
  )}, last ${said(summary.last)}`;
}

/** What a chart with several runs says to someone who cannot see it. */
export function comparedLaneLabel(
  lane: Pick<LaneInfo, "title" | "unit">,
  letters: readonly string[],
  runs: readonly LaneSummary[],
): string {
  const said = (value: Maybe<number>) => quantity(lane.unit, value);
  const run = (letter: string, { lowest, highest, last }: LaneSummary) =>
    highest === null
      ? `${letter} no samples`
      : `${letter} lowest ${said(lowest)}, highest ${said(highest)}, last ${said(last)}`;
  const each = runs.map((summary, at) => run(letters[at] ?? "", summary));
  return `${lane.title}: ${each.join("; ")}`;
}

export const COMPARE_TIMELINE_LABEL =
  "The runs side by side. Arrow keys move the cursor, n and p jump between marks, plus and minus zoom, 0 shows everything.";

export function allSettings(count: number): string {
  return `Show all ${counted(count, "setting")}`;
}

export const TIMELINE_LABEL =
  "Timeline. Arrow keys move the cursor, n and p jump between incidents, plus and minus zoom, 0 shows everything.";

/** What came since the view was zoomed: "3 new minutes". */
export function newTime(seconds: number): string {
  if (seconds < 60) return counted(Math.round(seconds), "new second");
  if (seconds < 3600) return counted(Math.round(seconds / 60), "new minute");
  return counted(Math.round(seconds / 3600), "new hour");
}

/** Of a view that is zoomed to an earlier part. */
export const LAST_IN_SIGHT = "last in sight";

/** When a value was measured that stands beside a lane without a cursor. */
export function lastWords(live: boolean, isOld: boolean): string {
  if (isOld) return "last known";
  return live ? "now" : "at the end";
}

export function gapWords(seconds: number): string {
  return `no samples for ${duration(seconds)}`;
}

/** Why a lane stands first. */
export function explainsTag(state: Maybe<RunState>): string {
  return state === "running" || state === "finished"
    ? "explains the warning"
    : "explains the stop";
}
