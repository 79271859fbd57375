import { cleanup, fireEvent, render, screen } from "@testing-library/preact";
import { afterEach, expect, test, vi } from "vitest";
import { CodeBox } from "./code-box";

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

test("copies the code and says so", async () => {
  const writeText = vi.fn(async () => undefined);
  vi.stubGlobal("navigator", { clipboard: { writeText } });
  render(<CodeBox code="x = 1" />);

  fireEvent.click(screen.getByRole("button"));

  expect(await screen.findByText("Copied")).toBeTruthy();
  expect(writeText).toHaveBeenCalledWith("x = 1");
});

test("selects the code where there is no clipboard", async () => {
  vi.stubGlobal("navigator", {});
  render(<CodeBox code="x = 1" />);

  fireEvent.click(screen.getByRole("button"));

  expect(await screen.findByText("Selected: press Ctrl-C")).toBeTruthy();
});
