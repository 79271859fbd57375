// The list of keys, opened by "?" or by the button at the foot of the page.
import { useEffect, useRef } from "preact/hooks";
import { KEYS, keysOn, keysShown, switchKeys } from "../keys";

export function KeyList() {
  const shown = keysShown.value;
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (shown) dialog.current?.showModal();
    else dialog.current?.close();
  }, [shown]);
  return (
    <>
      <footer class="foot">
        <button type="button" class="link" onClick={() => (keysShown.value = true)}>
          Keys
        </button>
      </footer>
      <dialog
        ref={dialog}
        class="key-list"
        aria-labelledby="key-list"
        onClose={() => (keysShown.value = false)}
      >
        <header>
          <h2 id="key-list">Keys</h2>
          <button
            type="button"
            class="button"
            onClick={() => (keysShown.value = false)}
          >
            Close
          </button>
        </header>
        {KEYS.map(({ where, keys }) => (
          <section key={where}>
            <h3>{where}</h3>
            <dl>
              {keys.map((item) => (
                <div key={item.keys}>
                  <dt>{item.keys}</dt>
                  <dd>{item.does}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
        <label>
          <input
            type="checkbox"
            checked={keysOn.value}
            onChange={() => switchKeys(!keysOn.value)}
          />
          Single letters are keys
        </label>
      </dialog>
    </>
  );
}
