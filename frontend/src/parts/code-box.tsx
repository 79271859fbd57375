// A snippet with a button that copies it.
import { useEffect, useRef, useState } from "preact/hooks";

const SAID_FOR_MS = 2000;

export function CodeBox({ code }: { code: string }) {
  const [said, setSaid] = useState("");
  const shown = useRef<HTMLElement>(null);

  useEffect(() => {
    if (said === "") return;
    const timer = setTimeout(() => setSaid(""), SAID_FOR_MS);
    return () => clearTimeout(timer);
  }, [said]);

  async function copy() {
    setSaid((await copied(code, shown.current)) ? "Copied" : "Selected: press Ctrl-C");
  }

  return (
    <div class="code-box">
      <code ref={shown}>{code}</code>
      <button type="button" class="copy" onClick={copy} aria-label="Copy the code">
        <span role="status">{said}</span>
        {said === "" && <CopyIcon />}
      </button>
    </div>
  );
}

/** Over plain HTTP there is no clipboard; then select the text, so one key copies it. */
async function copied(text: string, shown: HTMLElement | null): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    if (shown) window.getSelection()?.selectAllChildren(shown);
    return false;
  }
}

function CopyIcon() {
  return (
    <svg width="14" height="14" viewBox="0 0 16 16" aria-hidden="true">
      <path
        fill="none"
        stroke="currentColor"
        stroke-width="1.6"
        d="M11 5V2.5H2.5V11H5M5 5h8.5v8.5H5z"
      />
    </svg>
  );
}
