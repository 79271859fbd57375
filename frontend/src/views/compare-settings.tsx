// "Settings that differ", the others on demand, and the one to try first.
import { useState } from "preact/hooks";
import type { Comparison } from "../api-types";
import { type GroupSetting, settingsIn } from "../lanes/compared-group";
import { Badge, letterOf } from "../parts/badge";
import { allSettings, NOT_SEEN } from "../words";

interface Props {
  /** The pair that is told in words. */
  told: Comparison;
  /** A with each of the others. */
  comparisons: readonly Comparison[];
}

export function ComparedSettings({ told, comparisons }: Props) {
  const [all, setAll] = useState(false);
  const settings = settingsIn(comparisons);
  const differ = settings.filter((setting) => setting.differs);
  const { try_first: tip } = told;
  return (
    <div>
      <h3 id="settings-differ">Settings that differ</h3>
      {settings.length === 0 && <p class="faint">No settings were recorded.</p>}
      {settings.length > 0 && differ.length === 0 && (
        <p class="faint">All {settings.length} settings are the same.</p>
      )}
      {(differ.length > 0 || all) && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls needs the keyboard.
        <div class="scrolling" tabIndex={0}>
          <table class="compared settings-table" aria-labelledby="settings-differ">
            <thead>
              <tr>
                <th scope="col">Setting</th>
                {[told.a, ...comparisons].map((_, run) => (
                  <th key={letterOf(run)} scope="col">
                    <Badge letter={letterOf(run)} />
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {(all ? settings : differ).map((setting) => (
                <Row key={setting.name} setting={setting} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {settings.length > differ.length && (
        <button
          type="button"
          class="link"
          aria-expanded={all}
          onClick={() => setAll(!all)}
        >
          {all ? "Show only those that differ" : allSettings(settings.length)}
        </button>
      )}
      {tip && (
        <p class="try-first">
          <b>
            Try this first: <code>{tip.setting}</code>.
          </b>{" "}
          {tip.why}
        </p>
      )}
    </div>
  );
}

function Row({ setting }: { setting: GroupSetting }) {
  return (
    <tr class={setting.differs ? "differs" : "alike"}>
      <th scope="row">{setting.name}</th>
      {setting.values.map((value, run) => (
        <td key={letterOf(run)} class={`of-${letterOf(run)}`}>
          {value ?? NOT_SEEN}
        </td>
      ))}
    </tr>
  );
}
