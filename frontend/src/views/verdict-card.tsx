// The answer: what happened and how sure we are, then the evidence and what to do.
import type { ComponentChildren } from "preact";
import type { Doc, Evidence, Finding, Fix, Maybe, RunRow } from "../api-types";
import { CodeBox } from "../parts/code-box";
import { Glyph } from "../parts/glyph";
import { type Shape, shapeOf, shapeOfSeverity, toneOf } from "../run-tone";
import { CONFIDENCE_WORDS, calmSentence, placeWords, stateWord } from "../words";
import { Facts } from "./facts";

/** Shows a piece of evidence on the timeline; null where there is no timeline. */
export type ShowEvidence = Maybe<(evidence: Evidence) => void>;

interface Props {
  run: RunRow;
  verdict: Maybe<Finding>;
  live: ComponentChildren;
  onShow: ShowEvidence;
}

export function VerdictCard({ run, verdict, live, onShow }: Props) {
  const shape = verdict ? verdictShape(run, verdict) : shapeOf(run.state, run.severity);
  return (
    <section class={`verdict ${toneOf(shape)}`} aria-label="Verdict">
      <header>
        <Glyph shape={shape} size={32} />
        <div class="verdict-words">
          <h2>{verdict?.headline ?? run.headline}</h2>
          <p>{verdict ? verdict.because : calmSentence(run)}</p>
          {verdict?.place && placeWords(verdict.place) !== "" && (
            <p>
              In <code>{placeWords(verdict.place)}</code>
            </p>
          )}
          {live}
        </div>
        {verdict && verdict.id !== "unknown" ? (
          <Confidence finding={verdict} />
        ) : (
          <span class="state-word">{stateWord(run.state)}</span>
        )}
      </header>
      {verdict && <Reasons finding={verdict} onShow={onShow} />}
      <Facts run={run} />
    </section>
  );
}

function verdictShape(run: RunRow, verdict: Finding): Shape {
  return run.state === "stuck" ? "stuck" : shapeOfSeverity(verdict.severity);
}

function Confidence({ finding }: { finding: Finding }) {
  return (
    <p class={`confidence ${finding.confidence}`}>
      Confidence <b>{CONFIDENCE_WORDS[finding.confidence]}</b>
      <span class="track" aria-hidden="true">
        <span />
      </span>
    </p>
  );
}

/** The evidence beside the fixes. Also used for findings beside the verdict. */
export function Reasons({
  finding,
  onShow,
}: {
  finding: Finding;
  onShow: ShowEvidence;
}) {
  return (
    <div class="reasons">
      <div>
        <h3>Why we think so</h3>
        <ul class="evidence">
          {finding.evidence.map((item) => (
            <EvidenceLine key={item.text} item={item} onShow={onShow} />
          ))}
        </ul>
      </div>
      {finding.fixes.length > 0 && (
        <div>
          <h3>What to do</h3>
          <ol class="fixes">
            {finding.fixes.map((fix, index) => (
              <FixItem key={fix.title} fix={fix} open={index === 0} />
            ))}
          </ol>
          <ReadOn docs={finding.docs} />
        </div>
      )}
    </div>
  );
}

/** Official pages, opened beside this one. */
function ReadOn({ docs }: { docs: readonly Doc[] }) {
  const safe = docs.filter((doc) => doc.url.startsWith("https://"));
  if (safe.length === 0) return null;
  return (
    <ul class="read-on" aria-label="Read on">
      {safe.map((doc) => (
        <li key={doc.url}>
          <a href={doc.url} target="_blank" rel="noreferrer">
            {doc.name}
          </a>
        </li>
      ))}
    </ul>
  );
}

function EvidenceLine({ item, onShow }: { item: Evidence; onShow: ShowEvidence }) {
  const hasPlace = item.lane !== null || item.step !== null || item.wall_time !== null;
  return (
    <li class={item.strength}>
      <span>
        {item.text}
        {item.strength === "supporting" && <span class="unseen"> (supporting)</span>}
      </span>
      {hasPlace && onShow && (
        <button
          type="button"
          class="link"
          aria-label={`Show on the timeline: ${item.text}`}
          onClick={() => onShow(item)}
        >
          Show
        </button>
      )}
    </li>
  );
}

/** Only the first fix is open: it is the one to try first. */
function FixItem({ fix, open }: { fix: Fix; open: boolean }) {
  return (
    <li>
      <details open={open}>
        <summary>{fix.title}</summary>
        <p>{fix.why}</p>
        {fix.code !== null && <CodeBox code={fix.code} />}
      </details>
    </li>
  );
}
