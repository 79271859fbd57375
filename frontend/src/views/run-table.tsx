// The run list as a table that only keeps the rows on screen in the page.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { RunRow } from "../api-types";
import { useNow } from "../parts/use-now";
import { nextSort } from "../run-order";
import { adjust, openRun } from "../state";
import type { Sort } from "../url-state";
import { COLUMN_TITLES } from "../words";
import { useRowKeys } from "./row-keys";
import { type Column, columnsFor } from "./run-columns";
import { PickBox } from "./run-picks";
import { virtualWindow } from "./virtual-window";

/** Equal to the height of a row in runs.css. */
export const ROW_HEIGHT = 44;

interface Props {
  runs: readonly RunRow[];
  /** All runs, because columns must not come and go with a filter. */
  allRuns: readonly RunRow[];
  sort: Sort | null;
}

export function RunTable({ runs, allRuns, sort }: Props) {
  const body = useRef<HTMLTableSectionElement>(null);
  const view = useViewport(body);
  const now = useNow(30);
  useRowKeys({ runs, body, rowHeight: ROW_HEIGHT });
  const columns = columnsFor(allRuns);
  const shown = virtualWindow(runs.length, ROW_HEIGHT, view.scrolled, view.height);
  return (
    <table class="runs" aria-rowcount={runs.length + 1}>
      <caption class="unseen">Runs and their health</caption>
      <thead>
        <tr aria-rowindex={1}>
          <th scope="col" class="column-pick">
            <span class="unseen">Compare</span>
          </th>
          {columns.map((column) => (
            <ColumnHead key={column.key} column={column} sort={sort} />
          ))}
        </tr>
      </thead>
      <tbody ref={body}>
        <Spacer height={shown.pixelsBefore} />
        {runs.slice(shown.first, shown.end).map((run, index) => (
          <Row
            key={run.name}
            run={run}
            rowIndex={shown.first + index + 2}
            columns={columns}
            now={now}
          />
        ))}
        <Spacer height={shown.pixelsAfter} />
      </tbody>
    </table>
  );
}

function useViewport(body: { current: HTMLElement | null }) {
  const [view, setView] = useState({ scrolled: 0, height: window.innerHeight });
  useLayoutEffect(() => {
    const read = () => {
      // A hidden tab has no height; keep what was there, so nothing jumps on return.
      if (!body.current || window.innerHeight === 0) return;
      // A row at a time is enough, and spares a rendering for each pixel.
      const top = -body.current.getBoundingClientRect().top;
      const scrolled = Math.round(top / ROW_HEIGHT) * ROW_HEIGHT;
      const height = window.innerHeight;
      setView((old) =>
        old.scrolled === scrolled && old.height === height ? old : { scrolled, height },
      );
    };
    read();
    window.addEventListener("scroll", read, { passive: true });
    window.addEventListener("resize", read);
    return () => {
      window.removeEventListener("scroll", read);
      window.removeEventListener("resize", read);
    };
  }, [body]);
  return view;
}

function ColumnHead({ column, sort }: { column: Column; sort: Sort | null }) {
  const { key } = column;
  const direction =
    sort?.key !== key ? null : sort.descending ? "descending" : "ascending";
  return (
    <th
      scope="col"
      class={`column-${key}`}
      {...(direction && { "aria-sort": direction })}
    >
      <button type="button" onClick={() => adjust({ sort: nextSort(sort, key) })}>
        {COLUMN_TITLES[key]}
        <span aria-hidden="true">
          {direction === "descending" ? " ↓" : direction === "ascending" ? " ↑" : ""}
        </span>
      </button>
    </th>
  );
}

interface RowProps {
  run: RunRow;
  rowIndex: number;
  columns: readonly Column[];
  now: number;
}

function Row({ run, rowIndex, columns, now }: RowProps) {
  // The name in the row is the link; the click on the rest is a larger target for it.
  return (
    <tr
      aria-rowindex={rowIndex}
      class={run.monitored ? "" : "unmonitored"}
      onClick={() => openRun(run.name)}
    >
      <td class="column-pick">{run.monitored && <PickBox name={run.name} />}</td>
      {columns.map((column) =>
        column.key === "run" ? (
          <th key={column.key} scope="row" class="column-run">
            {column.cell(run, now)}
          </th>
        ) : (
          <td key={column.key} class={`column-${column.key}`}>
            {column.cell(run, now)}
          </td>
        ),
      )}
    </tr>
  );
}

/** One cell: columns may be hidden, and a wider one would make room for them. */
function Spacer({ height }: { height: number }) {
  if (height <= 0) return null;
  return (
    <tr class="spacer" style={{ height: `${height}px` }}>
      <td />
    </tr>
  );
}
