import fc from "fast-check";
import { expect, it } from "vitest";
import {
  digitsOf,
  fieldsOf,
  isObject,
  listOf,
  nonEmptyText,
  numberOf,
  textOf,
  textsOf,
} from "../../../../src/runtime/text/json/json-values.js";

const POD = {
  metadata: { name: "cart", labels: { app: "shop", replicas: 3 } },
  spec: { containers: [{ name: "web" }], port: 8080, load: 0.5 },
};

it("reads values at a path of names", () => {
  expect(textOf(POD, "metadata", "name")).toBe("cart");
  expect(fieldsOf(POD, "metadata", "labels")).toEqual({ app: "shop", replicas: 3 });
  expect(listOf(POD, "spec", "containers")).toEqual([{ name: "web" }]);
  expect([numberOf(POD, "spec", "port"), numberOf(POD, "spec", "load")]).toEqual([8080, 0.5]);
  expect([digitsOf(POD, "spec", "port"), digitsOf(POD, "spec", "load")]).toEqual(["8080", ""]);
  expect(textsOf(POD, "metadata", "labels")).toEqual({ app: "shop" });
});

it("treats a value of another type as a missing one, and nothing that objects inherit as a value", () => {
  for (const path of [
    ["spec", "none"],
    ["metadata", "name", "length"],
    ["spec", "containers", "length"],
    ["toString"],
  ]) {
    expect(textOf(POD, ...path)).toBe("");
    expect(fieldsOf(POD, ...path)).toEqual({});
    expect(listOf(POD, ...path)).toEqual([]);
    expect(numberOf(POD, "spec", "containers", "none", ...path)).toBe(undefined);
  }
  expect([numberOf("7"), textOf(7), digitsOf(2 ** 53)]).toEqual([undefined, "", ""]);
  expect([isObject({}), isObject([]), isObject(null), isObject("")]).toEqual([true, false, false, false]);
  expect([nonEmptyText("a"), nonEmptyText(""), nonEmptyText(1)]).toEqual(["a", undefined, undefined]);
});

it("never throws, whatever the JSON is", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.array(fc.string()), (value, path) => {
      expect(typeof textOf(value, ...path)).toBe("string");
      expect(Array.isArray(listOf(value, ...path))).toBe(true);
      expect(isObject(fieldsOf(value, ...path))).toBe(true);
      expect(Object.values(textsOf(value, ...path)).every((text) => typeof text === "string")).toBe(true);
    }),
  );
});
