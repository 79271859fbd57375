// The bar on top while the server does not answer; the old data stays below it.
import type { Feed } from "../feed";
import { failureSentence } from "../words";

export function StaleBar({ feed }: { feed: Feed<unknown> }) {
  const error = feed.error.value;
  return (
    <div role="status">
      {error && (
        <p class="stale-bar">
          <span>{failureSentence(error, feed.receivedAt.value)}</span>
          <button type="button" class="link" onClick={() => void feed.refresh()}>
            Try again
          </button>
        </p>
      )}
    </div>
  );
}
