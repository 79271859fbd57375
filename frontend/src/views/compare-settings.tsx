// "Settings that differ", the others on demand, and the one to try first.
import { useState } from "preact/hooks";
import type { ComparedSetting, Comparison } from "../api-types";
import { Badge } from "../parts/badge";
import { allSettings, NOT_SEEN } from "../words";

export function ComparedSettings({ comparison }: { comparison: Comparison }) {
  const { settings, same_settings: same, try_first: tip } = comparison;
  const [all, setAll] = useState(false);
  const count = settings.length + same.length;
  return (
    <div>
      <h3 id="settings-differ">Settings that differ</h3>
      {count === 0 && <p class="faint">No settings were recorded.</p>}
      {count > 0 && settings.length === 0 && (
        <p class="faint">All {count} settings are the same.</p>
      )}
      {(settings.length > 0 || all) && (
        <table class="compared settings-table" aria-labelledby="settings-differ">
          <thead>
            <tr>
              <th scope="col">Setting</th>
              <th scope="col">
                <Badge letter="a" />
              </th>
              <th scope="col">
                <Badge letter="b" />
              </th>
            </tr>
          </thead>
          <tbody>
            {settings.map((setting) => (
              <Row key={setting.name} setting={setting} differs />
            ))}
            {all && same.map((setting) => <Row key={setting.name} setting={setting} />)}
          </tbody>
        </table>
      )}
      {same.length > 0 && (
        <button
          type="button"
          class="link"
          aria-expanded={all}
          onClick={() => setAll(!all)}
        >
          {all ? "Show only those that differ" : allSettings(count)}
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

function Row({
  setting,
  differs = false,
}: {
  setting: ComparedSetting;
  differs?: boolean;
}) {
  return (
    <tr class={differs ? "differs" : "alike"}>
      <th scope="row">{setting.name}</th>
      <td class="of-a">{setting.a ?? NOT_SEEN}</td>
      <td class="of-b">{setting.b ?? NOT_SEEN}</td>
    </tr>
  );
}
