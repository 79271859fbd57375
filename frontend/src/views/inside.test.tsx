import { cleanup, fireEvent, render, screen } from "@testing-library/preact";
import { afterEach, expect, test, vi } from "vitest";
import { decodeTraining } from "../api-decode-training";
import { serve } from "../testing/answers";
import { EVENTS, example, TRAINING } from "../testing/http-api-examples";
import { Inside } from "./inside";
import { grouped, packageName, StackTree } from "./stack-tree";

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

test("layers, data and time are told with their numbers", () => {
  render(<Inside run="bs512" inside={decodeTraining(example(TRAINING))} />);

  expect(screen.getByText("Layers")).toBeTruthy();
  expect(
    screen.getByRole("row", { name: /dense Dense relu 704 5 10 0.5%/ }),
  ).toBeTruthy();
  expect(screen.getByText("TFRecord")).toBeTruthy();
  expect(screen.getByText("512 × 10")).toBeTruthy();
  expect(screen.getByText("85%")).toBeTruthy();
});

test("raw events are asked for only when they are opened", async () => {
  const asked = serve(() => ({ json: example(EVENTS) }));
  render(<Inside run="bs512" inside={null} />);
  expect(asked).toHaveLength(0);

  const box = screen.getByText("Raw events").closest("details");
  if (!box) throw new Error("no box");
  box.open = true;
  fireEvent(box, new Event("toggle"));

  expect(await screen.findByText("RunEnded")).toBeTruthy();
});

const frame = (file: string, library: boolean, line = 1) => ({
  file,
  line,
  function: "f",
  library,
});

test("calls inside of one library are folded, own lines stand alone", () => {
  const keras = "/env/lib/python3.11/site-packages/keras/src/a.py";
  const groups = grouped([
    frame("/project/train.py", false),
    frame(keras, true),
    frame(keras, true, 2),
    frame("/project/train.py", false, 9),
  ]);

  expect(groups.map((group) => group.frames.length)).toEqual([1, 2, 1]);
  expect(packageName(keras)).toBe("keras");
});

test("threads outside of the user's code are folded away", () => {
  render(
    <StackTree
      threads={[
        { trains: false, frames: [frame("/usr/lib/python3.11/threading.py", true)] },
        { trains: true, frames: [frame("/project/train.py", false)] },
      ]}
    />,
  );

  expect(screen.getByText("The thread that trains")).toBeTruthy();
  expect(screen.getByText("1 other thread outside of your code")).toBeTruthy();
});
