// "What differs, first to last": every signal of both runs, those alike at the end.
import type { ComparedSignal, Comparison } from "../api-types";
import { zoomToDifference } from "../lanes/compare-timeline";
import { Badge, type Letter } from "../parts/badge";

export function ComparedSignals({
  comparison,
  letter,
}: {
  comparison: Comparison;
  /** Of the run that A is compared with. */
  letter: Letter;
}) {
  return (
    <div>
      <h3 id="what-differs">What differs, first to last</h3>
      <table class="compared" aria-labelledby="what-differs">
        <thead>
          <tr>
            <th scope="col">Signal</th>
            <th scope="col">
              <Badge letter="a" />
            </th>
            <th scope="col">
              <Badge letter={letter} />
            </th>
            <th scope="col" title={comparison.rule}>
              From
            </th>
            <th scope="col" class="how" title={comparison.rule}>
              How different
            </th>
          </tr>
        </thead>
        <tbody>
          {comparison.signals.map((signal) => (
            <Row key={signal.id} signal={signal} comparison={comparison} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({
  signal,
  comparison,
}: {
  signal: ComparedSignal;
  comparison: Comparison;
}) {
  const { begins, strength } = signal;
  return (
    <tr class={begins ? "" : "alike"}>
      <th scope="row">
        {signal.title}
        <span>{signal.what}</span>
      </th>
      <td>{signal.a}</td>
      <td>{signal.b}</td>
      <td title={comparison.rule}>
        {begins ? (
          <button
            type="button"
            class="link"
            aria-label={`Show on the timeline: ${signal.title}, from ${signal.from}`}
            onClick={() => show(comparison, signal)}
          >
            {signal.from}
          </button>
        ) : (
          signal.from
        )}
      </td>
      <td class="how">
        <span class="track" aria-hidden="true">
          <span style={{ width: `${Math.max(0.02, strength) * 100}%` }} />
        </span>
        <span class="unseen">{Math.round(strength * 100)}%</span>
      </td>
    </tr>
  );
}

function show(comparison: Comparison, signal: ComparedSignal): void {
  zoomToDifference(comparison, signal);
  const lanes = [...document.querySelectorAll<HTMLElement>("[data-lane]")];
  const lane = lanes.find((candidate) => candidate.dataset.lane === signal.id);
  lane?.scrollIntoView({ block: "center" });
}
