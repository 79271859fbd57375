// Waits for what a test expects, however busy the machine is.
import { vi } from "vitest";

export function until(expected: () => unknown): Promise<unknown> {
  return vi.waitFor(expected, { timeout: 30_000 });
}
