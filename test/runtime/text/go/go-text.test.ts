import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sampleNumber } from "../../../../src/exporters/prometheus/exposition-text.js";
import { doubleText } from "../../../../src/receivers/sql-query/value-text.js";
import { formatDouble, goNumber, plainGoNumber, quoteGoJson } from "../../../../src/runtime/text/go/go-text.js";

/** What Go's %v prints, and what strconv writes without an exponent ('f', -1). */
const NUMBERS: readonly (readonly [value: number, shortest: string, plain: string])[] = [
  [0, "0", "0"],
  [-0, "-0", "-0"],
  [1, "1", "1"],
  [-1.5, "-1.5", "-1.5"],
  [0.1, "0.1", "0.1"],
  [0.0001, "0.0001", "0.0001"],
  [0.00012, "0.00012", "0.00012"],
  [0.00001, "1e-05", "0.00001"],
  [-0.0000125, "-1.25e-05", "-0.0000125"],
  [1e-10, "1e-10", "0.0000000001"],
  [5e-324, "5e-324", `0.${"0".repeat(323)}5`],
  [99_999, "99999", "99999"],
  [999_999.5, "999999.5", "999999.5"],
  [1_000_000, "1e+06", "1000000"],
  [-1_234_567.25, "-1.23456725e+06", "-1234567.25"],
  [1e21, "1e+21", "1000000000000000000000"],
  [1e23, "1e+23", "100000000000000000000000"],
  [1.25e100, "1.25e+100", `125${"0".repeat(98)}`],
  [Number.NaN, "NaN", "NaN"],
  [Number.POSITIVE_INFINITY, "+Inf", "+Inf"],
  [Number.NEGATIVE_INFINITY, "-Inf", "-Inf"],
];

describe("a double as Go writes it", () => {
  it.each(NUMBERS)("%d is %s, and %s without an exponent", (value, shortest, plain) => {
    expect(goNumber(value)).toBe(shortest);
    expect(formatDouble("g", value, "", undefined)).toBe(shortest);
    expect(plainGoNumber(value)).toBe(plain);
  });

  it.each(NUMBERS)(
    "%d has that text in columns of databases and in samples of Prometheus, where -0 is 0",
    (value, text) => {
      if (!Number.isNaN(value)) expect(doubleText(Object.is(value, -0) ? "-0" : String(value))).toBe(text);
      expect(sampleNumber(value, "prometheus")).toBe(value === 0 ? "0" : text);
      const hasPoint = /[.eNI]/.test(text);
      expect(sampleNumber(value, "openmetrics")).toBe(value === 0 ? "0.0" : hasPoint ? text : `${text}.0`);
    },
  );

  it("is read as the same double", () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        expect(Number(goNumber(value))).toBe(value);
        expect(Number(plainGoNumber(value))).toBe(value);
      }),
    );
  });
});

it("escapes markup and line separators in a text of JSON", () => {
  expect(quoteGoJson('<a href="x">&\u2028')).toBe(String.raw`"\u003ca href=\"x\"\u003e\u0026\u2028"`);
});
