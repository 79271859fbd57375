// The only file that touches `parent`: everything we learn from TensorBoard around us.
//
// TensorBoard shows us in an iframe of the same origin. Where the parent cannot be
// read (another embedding), each function falls back to our own window.
import { hasOurKeys, isOurTab, type Nav, readNav, writeNav } from "./url-state";
import { TAB_TITLE } from "./words";

function outerWindow(): Window {
  try {
    // Reading the address throws where the parent is of another origin.
    if (window.parent !== window && window.parent.location.href) return window.parent;
  } catch {
    // Fall through: we are on our own.
  }
  return window;
}

/** TensorBoard's entry page has no language and no title, and its frame has no name. */
export function nameThisPage(): void {
  document.documentElement.lang = "en";
  document.title = TAB_TITLE;
  try {
    if (window.frameElement) window.frameElement.setAttribute("title", TAB_TITLE);
  } catch {
    // The frame belongs to another origin.
  }
}

/** TensorBoard tells nobody about dark mode; it puts a class on its body. */
export function watchTheme(tell: (dark: boolean) => void): () => void {
  const outer = outerWindow();
  if (outer === window) {
    const query = window.matchMedia("(prefers-color-scheme: dark)");
    const read = () => tell(query.matches);
    query.addEventListener("change", read);
    read();
    return () => query.removeEventListener("change", read);
  }
  const body = outer.document.body;
  const read = () => tell(body.classList.contains("dark-mode"));
  const observer = new MutationObserver(read);
  observer.observe(body, { attributes: true, attributeFilter: ["class"] });
  read();
  return () => observer.disconnect();
}

/** A hidden tab stays "visible" to the browser, but its frame has no height. */
export function watchVisible(tell: (visible: boolean) => void): () => void {
  const read = () => tell(window.innerHeight > 0 && !document.hidden);
  const observer = new ResizeObserver(read);
  observer.observe(document.documentElement);
  window.addEventListener("resize", read);
  document.addEventListener("visibilitychange", read);
  read();
  return () => {
    observer.disconnect();
    window.removeEventListener("resize", read);
    document.removeEventListener("visibilitychange", read);
  };
}

/** TensorBoard broadcasts its reloads over a port that we have to hand it. */
export function watchReloads(tell: () => void): () => void {
  if (outerWindow() === window) return () => undefined;
  const channel = new MessageChannel();
  channel.port1.onmessage = (event: MessageEvent<unknown>) => {
    if (isDataReloaded(event.data)) tell();
  };
  window.parent.postMessage("experimental.bootstrap", "*", [channel.port2]);
  return () => channel.port1.close();
}

function isDataReloaded(data: unknown): boolean {
  const message: unknown = typeof data === "string" ? parsed(data) : data;
  return (
    typeof message === "object" &&
    message !== null &&
    "type" in message &&
    message.type === "experimental.DataReloaded"
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

export function currentNav(): Nav {
  return readNav(outerWindow().location.hash);
}

/** The address under which TensorBoard would open this state. */
export function addressOf(nav: Nav): string {
  const { pathname, search, hash } = outerWindow().location;
  return `${pathname}${search}${writeNav(nav, hash)}`;
}

/** The same with the host, to be sent to somebody. */
export function wholeAddress(nav: Nav): string {
  return `${outerWindow().location.origin}${addressOf(nav)}`;
}

export function writeAddress(nav: Nav, how: "push" | "replace"): void {
  const outer = outerWindow();
  if (!isOurTab(outer.location.hash)) return;
  const address = addressOf(nav);
  if (how === "push") outer.history.pushState(null, "", address);
  else outer.history.replaceState(outer.history.state, "", address);
}

/**
 * Tells about Back and Forward. Going to another tab and back may lose our keys from
 * the address; then `remembered` is what was shown and is written again.
 */
export function watchAddress(
  remembered: () => Nav,
  tell: (nav: Nav) => void,
): () => void {
  const outer = outerWindow();
  let wasElsewhere = !isOurTab(outer.location.hash);
  const read = () => {
    const { hash } = outer.location;
    const elsewhere = !isOurTab(hash);
    const cameBack = wasElsewhere && !elsewhere;
    wasElsewhere = elsewhere;
    if (elsewhere) return;
    if (cameBack && !hasOurKeys(hash)) writeAddress(remembered(), "replace");
    else tell(readNav(hash));
  };
  outer.addEventListener("popstate", read);
  outer.addEventListener("hashchange", read);
  return () => {
    outer.removeEventListener("popstate", read);
    outer.removeEventListener("hashchange", read);
  };
}
