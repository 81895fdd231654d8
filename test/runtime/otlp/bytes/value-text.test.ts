import { expect, it } from "vitest";
import { type Value, valueText } from "../../../../src/runtime/otlp/bytes/value.js";

it.each<[Value, string]>([
  ["as it is", "as it is"],
  [1.5, "1.5"],
  [true, "true"],
  [9007199254740993n, "9007199254740993"],
  [["a", 1], '["a",1]'],
  [{ b: 1, a: null }, '{"b":1,"a":null}'],
  [{ id: 9007199254740993n }, '{"id":"9007199254740993"}'],
])("gives %o as %s", (value, text) => {
  expect(valueText(value)).toBe(text);
});
