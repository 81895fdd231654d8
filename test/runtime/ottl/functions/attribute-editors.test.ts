import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { batchFromJson, batchToJson } from "../../../../src/plugin.js";
import { compileStatement } from "../../../../src/runtime/ottl/compile/compile.js";
import { transformBatch } from "../../../../src/runtime/ottl/compile/run.js";
import { runs } from "../../../support/runs.js";

const BEFORE = [
  'set(attributes["a.new"], "u-7")',
  'delete_key(attributes, "a.b")',
  'set(attributes["b"], "u-8") where true',
];
const EDITORS = [
  (target: string) => `delete_matching_keys(${target}, "^a\\\\.|u")`,
  (target: string) => `keep_matching_keys(${target}, "(?i)[ab]")`,
  (target: string) => `replace_all_patterns(${target}, "value", "u-(\\\\d+)$", "user \${1}")`,
  (target: string) => `merge_maps(${target}, {"a.b": 1, "new": "x"}, "insert")`,
  (target: string) => `merge_maps(${target}, {"a.b": 1, "new": "x"}, "update")`,
  (target: string) => `merge_maps(${target}, {"a.b": nil, "new": [1]}, "upsert")`,
];

/** The attributes of a record after these statements. */
function attributeListAfter(attributes: object[], statements: readonly string[]): { key: string; value?: unknown }[] {
  const json = JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: [{ attributes }] }] }] });
  const batch = batchFromJson("logs", Buffer.from(json));
  const failed = (error: unknown) => {
    throw error;
  };
  const compiled = statements.map((statement) => compileStatement(statement, "log"));
  const { resourceLogs } = JSON.parse(batchToJson(transformBatch(batch, compiled, [], failed)));
  return resourceLogs[0].scopeLogs[0].logRecords[0].attributes ?? [];
}

/** The same by key: of several with one the first counts. */
function attributesAfter(attributes: object[], statements: readonly string[]): Record<string, unknown> {
  const after = attributeListAfter(attributes, statements);
  return Object.fromEntries(after.toReversed().map(({ key, value }) => [key, value ?? null]));
}

describe("editors of all attributes", () => {
  it("change the bytes as they change a map of the same attributes, after any earlier changes", () => {
    const value = fc.oneof(
      fc.constantFrom("u-1", "user u-22", "é u-3", "x", "").map((stringValue) => ({ stringValue })),
      fc.constant({ intValue: "5" }),
      fc.constant({ arrayValue: { values: [{ stringValue: "u-9" }] } }),
    );
    const attribute = fc.record({ key: fc.constantFrom("a.b", "a.c", "b", "u", "é", "C", ""), value });
    const records = fc.array(attribute, { maxLength: 8 });
    fc.assert(
      fc.property(records, fc.subarray(BEFORE), fc.constantFrom(...EDITORS), (attributes, before, editor) => {
        const inMap = ['set(cache["m"], attributes)', editor('cache["m"]'), 'set(attributes, cache["m"])'];
        expect(attributesAfter(attributes, [...before, editor("attributes")])).toEqual(
          attributesAfter(attributes, [...before, ...inMap]),
        );
      }),
      runs(400),
    );
  });

  it("leave nothing to replace behind another attribute of the same key", () => {
    const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });
    const replace = 'replace_all_patterns(attributes, "value", "u-\\\\d+", "***")';
    // With more keys than a few they are looked up in another way.
    for (const others of [0, 200]) {
      const attributes = [
        ...Array.from({ length: others }, (_, i) => text(`k${i}`, "u-1")),
        text("a", "x"),
        text("b", "u-1"),
        { key: "c", value: { intValue: "5" } },
        ...["a", "b", "c", "a"].map((key) => text(key, "card u-4711")),
      ];
      const after = attributeListAfter(attributes, [replace]).slice(others);
      expect(after).toEqual([text("a", "x"), text("b", "***"), { key: "c", value: { intValue: "5" } }]);
    }
  });
});
