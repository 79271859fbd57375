// Picking runs of the list to compare: a tick box per row, and the tray below.
import { signal } from "@preact/signals";
import { Badge, letterOf } from "../parts/badge";
import { NavLink } from "../parts/nav-link";
import { comparePlace } from "../state";
import { MOST_COMPARED } from "../url-state";
import { COMPARE_WITH_HEALTHY } from "../words";

/** At most eight; one more drops the oldest. Kept while another view is open. */
export const picks = signal<readonly string[]>([]);

export function togglePick(name: string): void {
  const others = picks.value.filter((one) => one !== name);
  picks.value =
    others.length < picks.value.length
      ? others
      : [...others.slice(1 - MOST_COMPARED), name];
}

export function PickBox({ name }: { name: string }) {
  // The row is a link; a click on the box must not follow it.
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the box inside has the keys.
    <label onClick={(event) => event.stopPropagation()}>
      <span class="unseen">Compare {name}</span>
      <input
        type="checkbox"
        checked={picks.value.includes(name)}
        onChange={() => togglePick(name)}
      />
    </label>
  );
}

export function PickTray() {
  const [a, b, ...more] = picks.value;
  if (a === undefined) return null;
  return (
    <section class="tray" aria-label="Runs to compare">
      {picks.value.map((name, index) => (
        <span key={name}>
          <Badge letter={letterOf(index)} /> <b class="cut-off">{name}</b>
        </span>
      ))}
      <span class="space" />
      <button type="button" class="link" onClick={() => (picks.value = [])}>
        Clear
      </button>
      <NavLink to={comparePlace(a, b, ...more)} class="button strong">
        {b === undefined ? COMPARE_WITH_HEALTHY : "Compare"}
      </NavLink>
    </section>
  );
}
