// Which rows of a long table are worth having in the page.

export interface VirtualWindow {
  first: number;
  /** One past the last. */
  end: number;
  pixelsBefore: number;
  pixelsAfter: number;
}

/** Rows kept ready above and below, so that a quick scroll shows no hole. */
const SPARE_ROWS = 12;

export function virtualWindow(
  rowCount: number,
  rowHeight: number,
  /** Where the viewport's top edge lies below the first row's; negative above it. */
  scrolled: number,
  viewportHeight: number,
): VirtualWindow {
  const within = (row: number) => Math.max(0, Math.min(rowCount, row));
  const first = within(Math.floor(scrolled / rowHeight) - SPARE_ROWS);
  const end = within(Math.ceil((scrolled + viewportHeight) / rowHeight) + SPARE_ROWS);
  return {
    first,
    end,
    pixelsBefore: first * rowHeight,
    pixelsAfter: (rowCount - end) * rowHeight,
  };
}
