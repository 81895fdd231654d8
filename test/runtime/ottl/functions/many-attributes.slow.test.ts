import { expect, it } from "vitest";
import { batchFromJson, batchToJson } from "../../../../src/plugin.js";
import { compileStatement } from "../../../../src/runtime/ottl/compile/compile.js";
import { transformBatch } from "../../../../src/runtime/ottl/compile/run.js";

const COUNT = 90_000;

/** With a look over all of them for each, the limit of a test is over before they are through. */
it.each([
  ["replace_all_patterns", ['replace_all_patterns(attributes, "value", "u-1", "x")']],
  [
    "merge_maps",
    [
      'set(cache["m"], attributes)',
      'replace_all_patterns(cache["m"], "value", "u-1", "x")',
      'merge_maps(attributes, cache["m"], "upsert")',
    ],
  ],
])("%s takes time in proportion to the attributes of a record", (_, statements) => {
  const attributes = Array.from({ length: COUNT }, (_, i) => ({ key: `k${i}`, value: { stringValue: "u-1" } }));
  const json = JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: [{ attributes }] }] }] });
  const compiled = statements.map((statement) => compileStatement(statement, "log"));
  const { resourceLogs } = JSON.parse(batchToJson(transformBatch(batchFromJson("logs", json), compiled)));
  const after = resourceLogs[0].scopeLogs[0].logRecords[0].attributes;
  expect(after).toHaveLength(COUNT);
  expect(after.every(({ value }: { value: { stringValue: string } }) => value.stringValue === "x")).toBe(true);
});
