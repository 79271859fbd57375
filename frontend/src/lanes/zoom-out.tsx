// The way back from a zoom; without one, the hint how to make it.
import { adjust } from "../state";

export function ZoomOut({ zoomed }: { zoomed: boolean }) {
  if (!zoomed) return <span class="faint hint">Drag to zoom</span>;
  return (
    <button type="button" class="button" onClick={() => adjust({ range: null })}>
      Show everything
    </button>
  );
}
