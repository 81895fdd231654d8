import { expect, it } from "vitest";
import { quantityOf } from "../../../../src/runtime/net/kubernetes/quantity.js";

it.each([
  ["250m", 0.25],
  ["2", 2],
  [2, 2],
  ["1.5", 1.5],
  [".5", 0.5],
  ["512Mi", 512 * 1024 * 1024],
  ["1k", 1000],
  ["1E", 1e18],
  ["1e3", 1000],
  ["5E-1", 0.5],
  ["100n", 1e-7],
])("reads the quantity %s", (text, value) => {
  expect(quantityOf(text)).toBeCloseTo(value, 9);
});

it.each([["-1"], ["x"], [""], ["1KiB"], ["1e999"], [null], [undefined], [{}], [-3], ["1mm"]])(
  "takes %s for none",
  (text) => {
    expect(quantityOf(text)).toBe(0);
  },
);
