// "Show as table": what the charts show, for those who cannot see or would rather read.
import { useState } from "preact/hooks";
import { currentSheet } from "../export/sheet";
import { tableOf } from "../export/tables";
import { decimal, integer, NONE } from "../format";
import { rowsShown } from "../words";

/** More rows than this nobody reads; the CSV has them all. */
const MOST_ROWS = 200;

/** The button, and below the lanes the table that it opens. */
export function useShownTable() {
  const [shown, setShown] = useState(false);
  const button = (
    <button
      type="button"
      class="button"
      aria-expanded={shown}
      onClick={() => setShown(!shown)}
    >
      {shown ? "Hide the table" : "Show as table"}
    </button>
  );
  return { button, table: shown ? <ShownTable /> : null };
}

function ShownTable() {
  const sheet = currentSheet.value?.();
  if (!sheet) return null;
  const { head, rows, total } = tableOf(sheet, MOST_ROWS);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls needs the keyboard.
    <div class="scrolling shown-table" tabIndex={0}>
      <table class="plain">
        <caption>{rowsShown(rows.length, total)}</caption>
        <thead>
          <tr>
            {head.map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ x, cells }) => (
            <tr key={x}>
              <th scope="row">{Number.isInteger(x) ? integer(x) : decimal(x)}</th>
              {cells.map((value, at) => (
                <td key={head[at + 1]}>{value === null ? NONE : decimal(value)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
