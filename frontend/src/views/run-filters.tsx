// The pills that filter the run list by health, and the search box.
import { useMemo, useState } from "preact/hooks";
import type { RunRow } from "../api-types";
import { integer } from "../format";
import { Glyph } from "../parts/glyph";
import { countByFilter, countCauses } from "../run-order";
import type { Shape } from "../run-tone";
import { adjust } from "../state";
import { FILTERS, type Filter } from "../url-state";
import { FILTER_TITLES } from "../words";

const SHAPES: Record<Filter, Shape | null> = {
  all: null,
  failed: "failed",
  stuck: "stuck",
  warnings: "warning",
  running: "running",
  early: "ended",
  unknown: "ended",
  healthy: "healthy",
  unmonitored: "none",
};

interface Props {
  runs: readonly RunRow[];
  filter: Filter;
  query: string;
}

export function RunFilters({ runs, filter, query }: Props) {
  const counts = useMemo(() => countByFilter(runs), [runs]);
  // An empty group is not offered, unless it is the one that is chosen.
  const offered = FILTERS.filter(
    (item) => item === "all" || item === filter || (counts.get(item) ?? 0) > 0,
  );
  return (
    <search class="filters">
      <fieldset class="pills">
        <legend class="unseen">Show runs that are</legend>
        {offered.map((item) => (
          <Pill
            key={item}
            filter={item}
            count={counts.get(item) ?? 0}
            chosen={item === filter}
          />
        ))}
      </fieldset>
      <label class="find">
        <FindIcon />
        <span class="unseen">Find a run or a cause</span>
        <input
          type="search"
          placeholder="Find a run or a cause"
          value={query}
          onInput={(event) => adjust({ query: event.currentTarget.value })}
        />
      </label>
    </search>
  );
}

/** As many fit into a line or two; the search finds the others. */
const MOST_CAUSES = 12;

/** "Why runs failed": each cause is a filter, and a second click takes it off again. */
export function Causes({ runs, chosen }: { runs: readonly RunRow[]; chosen: string }) {
  const [all, setAll] = useState(false);
  const causes = useMemo(() => countCauses(runs), [runs]);
  if (causes.length === 0 && chosen === "") return null;
  const first = all ? causes : causes.slice(0, MOST_CAUSES);
  const hidden = first.some(([cause]) => cause === chosen) || chosen === "";
  const shown = hidden ? first : [...first, [chosen, 0] as [string, number]];
  return (
    <fieldset class="causes">
      <legend>Why:</legend>
      {shown.map(([cause, count]) => (
        <button
          key={cause}
          type="button"
          class="link cause"
          aria-pressed={cause === chosen}
          onClick={() => adjust({ cause: cause === chosen ? "" : cause })}
        >
          {cause} <span class="count">{integer(count)}</span>
        </button>
      ))}
      {causes.length > MOST_CAUSES && (
        <button
          type="button"
          class="link faint"
          aria-expanded={all}
          onClick={() => setAll(!all)}
        >
          {all ? "Fewer" : `${causes.length - MOST_CAUSES} more`}
        </button>
      )}
    </fieldset>
  );
}

function Pill(props: { filter: Filter; count: number; chosen: boolean }) {
  const { filter, count, chosen } = props;
  const shape = SHAPES[filter];
  return (
    <button
      type="button"
      class="pill"
      aria-pressed={chosen}
      onClick={() => adjust({ filter })}
    >
      {shape && <Glyph shape={shape} size={14} />}
      {FILTER_TITLES[filter]} <span class="count">{integer(count)}</span>
    </button>
  );
}

function FindIcon() {
  return (
    <svg width="14" height="14" viewBox="0 0 16 16" aria-hidden="true">
      <circle class="drawn" cx="6.5" cy="6.5" r="4.7" />
      <path class="drawn" d="m10 10 4.5 4.5" />
    </svg>
  );
}
