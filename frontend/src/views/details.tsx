// The quiet end of a run's page: what was not recorded, attempts and settings.
import type { Attempt, Finding, Maybe, NotMeasured, Story } from "../api-types";
import { dateAndTime, integer, NONE } from "../format";
import { Chip } from "../parts/chip";
import { CodeBox } from "../parts/code-box";
import { Glyph } from "../parts/glyph";
import { shapeOfSeverity } from "../run-tone";
import {
  CONFIDENCE_WORDS,
  comesFrom,
  moreNotRecorded,
  notRecorded,
  silencedWords,
  tunedWords,
} from "../words";
import { Reasons, type ShowEvidence } from "./verdict-card";

export function FurtherFindings(props: {
  verdict: Maybe<Finding>;
  findings: readonly Finding[];
  onShow: ShowEvidence;
}) {
  if (props.findings.length === 0) return null;
  const known = props.verdict ? [props.verdict, ...props.findings] : props.findings;
  return (
    <section class="card" aria-labelledby="also-seen">
      <header>
        <h2 id="also-seen">Also seen</h2>
      </header>
      {props.findings.map((finding) => (
        <details key={`${finding.id} ${finding.headline}`} class="finding">
          <summary>
            <Glyph shape={shapeOfSeverity(finding.severity)} />
            <span>{finding.headline}</span>
            <span class="faint">{CONFIDENCE_WORDS[finding.confidence]}</span>
          </summary>
          <Cause finding={finding} known={known} />
          <p>{finding.because}</p>
          <Reasons finding={finding} onShow={props.onShow} />
        </details>
      ))}
    </section>
  );
}

function Cause({ finding, known }: { finding: Finding; known: readonly Finding[] }) {
  const cause = known.find((other) => other.id === finding.caused_by);
  return cause ? <p>It {comesFrom(cause)}</p> : null;
}

/** So many lines are read; more of them hide the rest of the page. */
const NOT_RECORDED_SHOWN = 2;

/** Silence must not read as health: what nobody looked at is always said. */
export function NotRecorded({ items }: { items: readonly NotMeasured[] }) {
  if (items.length === 0) return null;
  const rest = items.slice(NOT_RECORDED_SHOWN);
  return (
    <section class="not-recorded" aria-label="Not recorded">
      {items.slice(0, NOT_RECORDED_SHOWN).map((item) => (
        <NotRecordedItem key={`${item.what} ${item.why}`} item={item} />
      ))}
      {rest.length > 0 && (
        <details>
          <summary>{moreNotRecorded(rest.length)}</summary>
          {rest.map((item) => (
            <NotRecordedItem key={`${item.what} ${item.why}`} item={item} />
          ))}
        </details>
      )}
    </section>
  );
}

function NotRecordedItem({ item }: { item: NotMeasured }) {
  return (
    <div>
      <p>Not recorded: {notRecorded(item)}</p>
      {item.enable !== null && <CodeBox code={item.enable} />}
    </div>
  );
}

/** What somebody chose not to be told must not read as "nothing found". */
export function Tuning({ story }: { story: Pick<Story, "silenced" | "tuned"> }) {
  const lines = [...story.silenced.map(silencedWords), ...story.tuned.map(tunedWords)];
  if (lines.length === 0) return null;
  return (
    <section class="not-recorded" aria-label="Rules that were set">
      {lines.map((line) => (
        <div key={line}>{line}</div>
      ))}
    </section>
  );
}

/** One attempt is the run itself; only a restart is news. */
export function Attempts({ attempts }: { attempts: readonly Attempt[] }) {
  if (attempts.length < 2) return null;
  return (
    <section class="card" aria-labelledby="attempts">
      <header>
        <h2 id="attempts">Attempts</h2>
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls needs the keyboard. */}
      <div class="scrolling" tabIndex={0}>
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">Started</th>
              <th scope="col">How it went</th>
              <th scope="col">Steps</th>
              <th scope="col">Host</th>
              <th scope="col">Process</th>
            </tr>
          </thead>
          <tbody>
            {attempts.map((attempt) => (
              <tr key={attempt.id}>
                <td>
                  {attempt.started_at === null ? NONE : dateAndTime(attempt.started_at)}
                </td>
                <td>
                  <Chip run={{ state: attempt.state, severity: "info", chip: "" }} />
                </td>
                <td>{attemptSteps(attempt)}</td>
                <td>{attempt.host ?? NONE}</td>
                <td>{attempt.pid ?? NONE}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function attemptSteps({ first_step: first, last_step: last }: Attempt): string {
  if (first === null && last === null) return NONE;
  const written = (step: number | null) => (step === null ? NONE : integer(step));
  return `${written(first)} to ${written(last)}`;
}

export function Settings({ settings }: { settings: Record<string, string> }) {
  const entries = Object.entries(settings);
  if (entries.length === 0) return null;
  return (
    <details class="card settings">
      <summary>
        <h2>Settings and environment</h2>
        <span class="faint">{integer(entries.length)}</span>
      </summary>
      <dl>
        {entries.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
