// The strip of plain facts below the verdict; what was not recorded is left out.
import type { RunRow } from "../api-types";
import { bytes, dateAndTime, duration, integer, percent } from "../format";

interface Fact {
  title: string;
  value: string;
  rest?: string;
}

export function Facts({ run }: { run: RunRow }) {
  const facts = factsOf(run);
  if (facts.length === 0) return null;
  return (
    <dl class="facts">
      {facts.map(({ title, value, rest }) => (
        <div key={title}>
          <dt>{title}</dt>
          <dd>
            {value} {rest && <span class="faint">{rest}</span>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

export function factsOf(run: RunRow): Fact[] {
  const facts: (Fact | null)[] = [
    counted("Steps", run.step, run.planned_steps),
    counted("Epoch", run.epoch, run.planned_epochs),
    fact("Ran for", run.ran_for_seconds, duration),
    memory(run),
    fact("GPU busy", run.gpu_busy_fraction, percent),
    fact("Waiting for data", run.data_wait_fraction, percent),
    fact("Started", run.started_at, dateAndTime),
  ];
  return facts.filter((item) => item !== null);
}

function fact(
  title: string,
  value: number | null,
  write: (value: number) => string,
): Fact | null {
  return value === null ? null : { title, value: write(value) };
}

function counted(title: string, done: number | null, planned: number | null) {
  const counted = fact(title, done, integer);
  return counted && planned !== null
    ? { ...counted, rest: `of ${integer(planned)}` }
    : counted;
}

function memory(run: RunRow): Fact | null {
  const peak = fact("Peak memory", run.peak_memory_bytes, bytes);
  return peak && run.memory_limit_bytes !== null
    ? { ...peak, rest: `of ${bytes(run.memory_limit_bytes)}` }
    : peak;
}
