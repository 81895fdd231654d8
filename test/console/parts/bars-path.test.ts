import { expect, it } from "vitest";
import { barsPath, CHART_HEIGHT, CHART_WIDTH } from "../../../console/parts/bars-path.js";

/** Where each bar begins, and how high it is. */
function barsOf(values: readonly number[]): { left: number; height: number }[] {
  const bars = barsPath(values).matchAll(/M([\d.]+) [\d.]+V([\d.]+)h/g);
  return [...bars].map(([, left, top]) => ({ left: Number(left), height: CHART_HEIGHT - Number(top) }));
}

it("draws a bar for each value from the left to the right, as high as its share of the highest", () => {
  const bars = barsOf([1, 2, 4, 3]);
  expect(bars.map(({ height }) => height)).toEqual([7, 14, 28, 21]);
  expect(bars.map(({ left }) => left)).toEqual([0.5, 30.5, 60.5, 90.5]);
});

it("draws a line where there was nothing, and something of the smallest", () => {
  expect(barsOf([0, 1, 10_000]).map(({ height }) => height)).toEqual([1, 2, CHART_HEIGHT]);
  expect(barsOf([0, 0]).map(({ height }) => height)).toEqual([1, 1]);
});

it("stays within the chart, and is nothing without values", () => {
  for (const { left } of barsOf(Array.from({ length: 24 }, (_, i) => i))) expect(left).toBeLessThan(CHART_WIDTH);
  expect(barsPath([])).toBe("");
});
