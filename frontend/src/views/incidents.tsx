// The incidents of a run in their order, with their tracebacks as plain text.
import type { Incident, Story } from "../api-types";
import { clockTimeWithSeconds, dateAndTime } from "../format";
import { isTheStop, stopOf } from "../lanes/marks";
import { Glyph } from "../parts/glyph";
import { shapeOfSeverity, toneOf } from "../run-tone";
import { stepWords } from "../words";
import { StackTree } from "./stack-tree";

export function Incidents({ story }: { story: Story }) {
  if (story.incidents.length === 0) return null;
  const stop = stopOf(story);
  let pins = 0;
  return (
    <section class="card" aria-labelledby="incidents">
      <header>
        <h2 id="incidents">Incidents</h2>
      </header>
      <ol class="incidents">
        {story.incidents.map((incident) => {
          const pin = isTheStop(incident, stop) ? null : ++pins;
          return <IncidentItem key={incident.id} incident={incident} pin={pin} />;
        })}
      </ol>
    </section>
  );
}

/** `pin` is the number on the timeline; the one that is the stop has none. */
function IncidentItem({ incident, pin }: { incident: Incident; pin: number | null }) {
  const shape = shapeOfSeverity(incident.severity);
  return (
    <li>
      {pin === null ? (
        <Glyph shape={shape} size={20} />
      ) : (
        <span class={`pin-number ${toneOf(shape)}`}>{pin}</span>
      )}
      <div class="incident">
        <p>
          <b>{incident.message}</b>
          <IncidentPlace incident={incident} />
        </p>
        {incident.threads.length > 0 && <StackTree threads={incident.threads} />}
        {incident.text !== null && (
          <details
            open={incident.severity === "critical" && incident.threads.length === 0}
          >
            <summary>Full text</summary>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls needs the keyboard. */}
            <pre tabIndex={0}>{incident.text}</pre>
          </details>
        )}
      </div>
    </li>
  );
}

function IncidentPlace({ incident }: { incident: Incident }) {
  const { step, wall_time: time } = incident;
  return (
    <span class="incident-place">
      {step !== null && <span>{stepWords(step)}</span>}
      {time !== null && (
        <time dateTime={new Date(time * 1000).toISOString()} title={dateAndTime(time)}>
          {clockTimeWithSeconds(time)}
        </time>
      )}
    </span>
  );
}
