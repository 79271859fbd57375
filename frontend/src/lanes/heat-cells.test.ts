import { expect, test } from "vitest";
import { decodeTraining } from "../api-decode-training";
import { cellsOf, shareOf, spanOf } from "./heat-cells";

function layers(...norms: (number | null | string)[][]) {
  return decodeTraining({ layers: norms.map((gradient_norms) => ({ gradient_norms })) })
    .layers;
}

test("each look reaches half-way to its neighbours", () => {
  const cells = cellsOf([10, 20, 30], [0, 100], 100);

  expect(cells.map(({ left, width }) => [left, width])).toEqual([
    [5, 10],
    [15, 10],
    [25, 10],
  ]);
});

test("a look that is alone can be seen", () => {
  expect(cellsOf([50], [0, 100], 100)).toEqual([{ at: 0, left: 38, width: 24 }]);
});

test("what is out of sight is left out", () => {
  expect(cellsOf([10, 90], [0, 50], 100).map((cell) => cell.at)).toEqual([0]);
});

test("colours follow the powers of ten", () => {
  const span = spanOf(layers([0.01, 0, null], [1, "NaN", "Infinity"]));

  expect(span).toEqual([0.01, 1]);
  expect(shareOf(0.1, span)).toBeCloseTo(0.5);
  expect(shareOf(0, span)).toBe(0);
  expect(shareOf(Number.NaN, span)).toBeNull();
});

test("layers that are all alike are neither weak nor strong", () => {
  expect(shareOf(2, spanOf(layers([2, 2])))).toBe(0.5);
  expect(spanOf(layers([null, 0]))).toBeNull();
});
