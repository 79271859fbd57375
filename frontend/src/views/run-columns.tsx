// The columns of the run table: one entry per column, in their order.
import type { ComponentChild } from "preact";
import type { RunRow } from "../api-types";
import { ago, bytes, dateAndTime, duration, NONE, percent } from "../format";
import { Chip } from "../parts/chip";
import { Meter } from "../parts/meter";
import { NavLink } from "../parts/nav-link";
import { StepsBar } from "../parts/steps-bar";
import { runPlace } from "../state";
import type { SortKey } from "../url-state";
import { attemptsWords } from "../words";

export interface Column {
  key: SortKey;
  /** False when no run has anything to show there; the column is then left out. */
  hasData(run: RunRow): boolean;
  cell(run: RunRow, now: number): ComponentChild;
}

/** Past these a number asks for attention. */
const MEMORY_ALARM = 0.9;
const WAIT_ALARM = 0.3;
const GPU_BUSY_ALARM = 0.5;

const none = <span class="faint">{NONE}</span>;

export const COLUMNS: readonly Column[] = [
  { key: "health", hasData: () => true, cell: (run) => <Chip run={run} /> },
  { key: "run", hasData: () => true, cell: (run) => <RunName run={run} /> },
  {
    key: "steps",
    hasData: (run) => run.step !== null,
    cell: (run) => <StepsBar run={run} />,
  },
  {
    key: "ran",
    hasData: (run) => run.ran_for_seconds !== null,
    cell: (run) =>
      run.ran_for_seconds === null ? none : duration(run.ran_for_seconds),
  },
  {
    key: "memory",
    hasData: (run) => run.peak_memory_bytes !== null,
    cell: (run) => <PeakMemory run={run} />,
  },
  {
    key: "gpu",
    hasData: (run) => run.gpu_busy_fraction !== null,
    cell: (run) => share(run.gpu_busy_fraction, (busy) => busy < GPU_BUSY_ALARM),
  },
  {
    key: "wait",
    hasData: (run) => run.data_wait_fraction !== null,
    cell: (run) => share(run.data_wait_fraction, (wait) => wait > WAIT_ALARM),
  },
  {
    key: "started",
    hasData: (run) => run.started_at !== null,
    cell: (run, now) => <Started at={run.started_at} now={now} />,
  },
];

export function columnsFor(runs: readonly RunRow[]): Column[] {
  return COLUMNS.filter((column) => runs.some((run) => column.hasData(run)));
}

/** The last part of a path is dimmed: "train" says less than what comes before it. */
function RunName({ run }: { run: RunRow }) {
  const split = run.name.lastIndexOf("/");
  const head = split < 0 ? run.name : run.name.slice(0, split);
  return (
    <NavLink
      to={runPlace(run.name)}
      class="run-name"
      title={`${run.name}\n${run.headline}`}
    >
      {head}
      {split >= 0 && <span class="faint">{run.name.slice(split)}</span>}
      {run.attempts > 1 && <span class="attempts">{attemptsWords(run.attempts)}</span>}
    </NavLink>
  );
}

function PeakMemory({ run }: { run: RunRow }) {
  const { peak_memory_bytes: peak, memory_limit_bytes: limit } = run;
  if (peak === null) return none;
  const fraction = limit === null || limit <= 0 ? null : peak / limit;
  return (
    <Meter
      fraction={fraction}
      text={bytes(peak)}
      alarming={fraction !== null && fraction > MEMORY_ALARM}
    />
  );
}

function share(value: number | null, alarming: (value: number) => boolean) {
  if (value === null) return none;
  return <Meter fraction={value} text={percent(value)} alarming={alarming(value)} />;
}

function Started({ at, now }: { at: number | null; now: number }) {
  if (at === null) return none;
  return <span title={dateAndTime(at)}>{ago(now - at)}</span>;
}
