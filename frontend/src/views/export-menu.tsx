// "Export": the page as a file, the timeline as a picture or a table, the link, a summary.
import { useEffect, useRef, useState } from "preact/hooks";
import { copyText, fileName, pngOf, save, textFile } from "../export/save";
import { currentSheet, type Sheet } from "../export/sheet";
import { svgOf } from "../export/svg";
import { csvOf, jsonOf } from "../export/tables";
import { wholeAddress } from "../host";
import { color } from "../lanes/lane-canvas";
import { report } from "../report";
import { nav } from "../state";

interface Props {
  runs: readonly string[];
  /** The answer behind the page, for the JSON file. */
  told: unknown;
  /** A few lines of Markdown for an issue or a chat. */
  summary: string;
}

const ALL_LANES = "";

export function ExportMenu(props: Props) {
  const box = useRef<HTMLDetailsElement>(null);
  const [open, setOpen] = useState(false);
  useClosing(box);
  return (
    <details
      class="menu"
      ref={box}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary class="button">Export</summary>
      <div class="menu-body">
        {!report && <ReportPart runs={props.runs} />}
        {/* The lanes are gathered only when somebody wants them. */}
        {open && <TimelinePart {...props} />}
        <CopyPart summary={props.summary} />
      </div>
    </details>
  );
}

/** A click elsewhere or Escape closes it, as of any menu. */
function useClosing(box: { current: HTMLDetailsElement | null }): void {
  useEffect(() => {
    const outside = (event: Event) => {
      const { current } = box;
      if (current?.open && !current.contains(event.target as Node))
        current.open = false;
    };
    const onEscape = (event: KeyboardEvent) => {
      const { current } = box;
      if (event.key !== "Escape" || !current?.open) return;
      current.open = false;
      current.querySelector("summary")?.focus();
    };
    document.addEventListener("pointerdown", outside);
    document.addEventListener("keydown", onEscape);
    return () => {
      document.removeEventListener("pointerdown", outside);
      document.removeEventListener("keydown", onEscape);
    };
  }, [box]);
}

/** Before a file leaves the house, one sees what is in it. */
function ReportPart({ runs }: { runs: readonly string[] }) {
  const [output, setOutput] = useState(true);
  const [settings, setSettings] = useState(true);
  const query = new URLSearchParams(runs.map((run) => ["run", run]));
  if (!output) query.append("without", "output");
  if (!settings) query.append("without", "settings");
  return (
    <section aria-labelledby="export-report">
      <h2 id="export-report">Report</h2>
      <p class="faint">This page as one file. It opens without TensorBoard.</p>
      <label>
        <input type="checkbox" checked={output} onChange={() => setOutput(!output)} />
        With tracebacks, stacks and last words
      </label>
      <label>
        <input
          type="checkbox"
          checked={settings}
          onChange={() => setSettings(!settings)}
        />
        With settings and the host’s name
      </label>
      <a class="button" href={`./report?${query}`} download="">
        Save the report
      </a>
    </section>
  );
}

function TimelinePart({ runs, told }: Props) {
  const [lane, setLane] = useState(ALL_LANES);
  const [failed, setFailed] = useState(false);
  const maker = currentSheet.value;
  if (!maker) return null;
  const names = maker().lanes;

  function chosen(): Sheet {
    const sheet = (currentSheet.peek() ?? maker)?.() as Sheet;
    const lanes = sheet.lanes.filter((one) => lane === ALL_LANES || one.id === lane);
    return { ...sheet, lanes };
  }
  const name = (extension: string) => fileName(runs[0] ?? "", extension);

  async function savePng() {
    try {
      save(await pngOf(svgOf(chosen(), color)), name("png"));
      setFailed(false);
    } catch {
      setFailed(true);
    }
  }

  return (
    <section aria-labelledby="export-timeline">
      <h2 id="export-timeline">Timeline</h2>
      <p class="faint">What is in sight, at the present zoom.</p>
      <select
        aria-label="Which lanes"
        value={lane}
        onChange={(event) => setLane(event.currentTarget.value)}
      >
        <option value={ALL_LANES}>All lanes</option>
        {names.map((one) => (
          <option key={one.id} value={one.id}>
            {one.title}
          </option>
        ))}
      </select>
      <div class="menu-row">
        <button type="button" class="button" onClick={savePng}>
          PNG
        </button>
        <button
          type="button"
          class="button"
          onClick={() =>
            save(textFile(svgOf(chosen(), color), "image/svg+xml"), name("svg"))
          }
        >
          SVG
        </button>
        <button
          type="button"
          class="button"
          onClick={() => save(textFile(csvOf(chosen()), "text/csv"), name("csv"))}
        >
          CSV
        </button>
        <button
          type="button"
          class="button"
          onClick={() =>
            save(textFile(jsonOf(chosen(), told), "application/json"), name("json"))
          }
        >
          JSON
        </button>
      </div>
      {failed && <p role="alert">The picture could not be made. Try SVG.</p>}
    </section>
  );
}

function CopyPart({ summary }: { summary: string }) {
  const [said, setSaid] = useState("");
  async function copy(text: string, what: string) {
    setSaid((await copyText(text)) ? `${what} copied` : "The browser did not allow it");
  }
  return (
    <section aria-labelledby="export-copy">
      <h2 id="export-copy">Copy</h2>
      <div class="menu-row">
        {!report && (
          <button
            type="button"
            class="button"
            onClick={() => copy(wholeAddress(nav.peek()), "Link")}
          >
            Link to this view
          </button>
        )}
        <button type="button" class="button" onClick={() => copy(summary, "Summary")}>
          Summary
        </button>
      </div>
      <p role="status" class="faint">
        {said}
      </p>
    </section>
  );
}
