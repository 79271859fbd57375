// The workers that trained together: which one it was, and what the others have to do with it.
import type { Maybe, Worker, Workers } from "../api-types";
import { integer, NONE } from "../format";
import { Chip } from "../parts/chip";
import { WORKER_PARTS, workersTitle } from "../words";

export function WorkersCard({ workers }: { workers: Maybe<Workers> }) {
  if (!workers || workers.table.length === 0) return null;
  return (
    <section class="card" aria-labelledby="workers">
      <header>
        <h2 id="workers">{workersTitle(workers.size)}</h2>
      </header>
      {workers.notes.map((note) => (
        <p key={note} class="card-body">
          {note}
        </p>
      ))}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls needs the keyboard. */}
      <div class="scrolling" tabIndex={0}>
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">Worker</th>
              <th scope="col">Its part</th>
              <th scope="col">State</th>
              <th scope="col">Step</th>
              <th scope="col">Host</th>
              <th scope="col">What it says itself</th>
            </tr>
          </thead>
          <tbody>
            {workers.table.map((worker) => (
              <Row key={worker.name} worker={worker} />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Row({ worker }: { worker: Worker }) {
  const severity = worker.part === "root" ? "critical" : "info";
  return (
    <tr>
      <th scope="row">{worker.name}</th>
      <td class={worker.part === "root" ? "bad" : ""}>{WORKER_PARTS[worker.part]}</td>
      <td>
        <Chip run={{ state: worker.state, severity, chip: "" }} />
      </td>
      <td>{worker.step === null ? NONE : integer(worker.step)}</td>
      <td>{worker.host ?? NONE}</td>
      <td>{worker.headline}</td>
    </tr>
  );
}
