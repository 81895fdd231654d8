import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Batch, batchFromJson, batchToJson } from "../../../../src/plugin.js";
import { runs } from "../../../support/runs.js";

/** Few different attributes, so that neighbours have some in common; some are nearly the same, some make lengths grow. */
const attribute = fc.constantFrom(
  { key: "a", value: { stringValue: "x" } },
  { key: "a", value: { stringValue: "y" } },
  { key: "a", value: { stringValue: "xx" } },
  { key: "a", value: { intValue: "1" } },
  { key: "a", value: { intValue: "12" } },
  { key: "é", value: { stringValue: "€😀" } },
  { key: "escaped", value: { stringValue: 'a"b\n' } },
  { key: "long", value: { stringValue: "z".repeat(90) } },
  { key: "longer", value: { stringValue: "z".repeat(200) } },
  { key: "map", value: { kvlistValue: { values: [{ key: "a", value: { stringValue: "x" } }] } } },
  { key: "list", value: { arrayValue: { values: [{ stringValue: "q".repeat(126) }] } } },
);
const attributes = fc.array(attribute, { minLength: 1, maxLength: 6 });

describe("attributes that come again", () => {
  it("are written as they would be alone, with anything around them", () => {
    const record = fc.record({ body: fc.nat(300).map((n) => ({ stringValue: "b".repeat(n) })), attributes });
    const scoped = fc.record({
      scope: fc.record({ name: fc.constantFrom("s", "scope"), attributes }),
      logRecords: fc.array(record, { minLength: 1, maxLength: 8 }),
    });
    const resource = fc.record({
      resource: fc.record({ attributes }),
      scopeLogs: fc.array(scoped, { minLength: 1, maxLength: 3 }),
    });
    fc.assert(
      fc.property(fc.array(resource, { minLength: 1, maxLength: 3 }), fc.boolean(), (resourceLogs, isSpaced) => {
        const json = JSON.stringify({ resourceLogs }, null, isSpaced ? 1 : 0);
        const batch = batchFromJson("logs", json);
        expect(JSON.parse(batchToJson(batch))).toEqual({ resourceLogs });
        expect(Batch.admit("logs", batch.bytes).count).toBe(batch.count);
      }),
      runs(300),
    );
  });

  it("count for the limit each time", () => {
    const one = { attributes: [{ key: "a", value: { stringValue: "x" } }] };
    const json = JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: Array(50).fill(one) }] }] });
    expect(batchFromJson("logs", json, 153).count).toBe(50);
    expect(() => batchFromJson("logs", json, 152)).toThrow();
  });
});
