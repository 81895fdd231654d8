import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Batch, batchFromJson, batchToJson } from "../../../../src/plugin.js";
import { compileStatement } from "../../../../src/runtime/ottl/compile/compile.js";
import { transformBatch } from "../../../../src/runtime/ottl/compile/run.js";
import { runs } from "../../../support/runs.js";

const STATEMENTS = [
  'set(body, "client=10.0.0.1 é€")',
  'set(body, Concat([body, "😀"], "-")) where IsString(body)',
  "set(body, Substring(body, 0, Len(body) - 1)) where IsString(body) and Len(body) > 0",
  'set(body, "half a pair: \ud83d")',
  "set(body, 7)",
  'set(body, {"a": "client=1.2.3.4"})',
  'set(body["a"], "client=9.9.9.9") where IsMap(body)',
  "set(body, attributes)",
  'replace_pattern(body, "client=\\\\d+", "client=*")',
  'replace_pattern(body, "[^a-z]", "$0$0")',
  'set(attributes["body"], body)',
  'set(attributes["length"], Len(body)) where IsString(body)',
  'set(attributes["match"], true) where IsMatch(body, "client=[*]")',
  'set(attributes["broken"], true) where IsMatch(body, "\ufffd")',
  'set(body.string, "text")',
  "set(severity_text, body) where IsString(body)",
].map((text) => compileStatement(text, "log"));

describe("a body that statements change", () => {
  it("is to the next one what it would be if it were written and read in between", () => {
    const body = fc.oneof(
      fc.string({ unit: "grapheme", maxLength: 80 }).map((stringValue) => ({ stringValue })),
      fc.constantFrom({ stringValue: "user client=203.0.113.7" }, { intValue: "5" }, {}, undefined),
    );
    fc.assert(
      fc.property(fc.array(body, { maxLength: 3 }), fc.array(fc.constantFrom(...STATEMENTS)), (bodies, statements) => {
        const logRecords = bodies.map((one) => ({ ...(one && { body: one }), attributes: [{ key: "k" }] }));
        const json = Buffer.from(JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }));
        const batch = batchFromJson("logs", json);
        const ignore = () => {};
        const together = transformBatch(batch, statements, [], ignore);
        const apart = statements.reduce((current, one) => transformBatch(current, [one], [], ignore), batch);
        expect(JSON.parse(batchToJson(together))).toEqual(JSON.parse(batchToJson(apart)));
        expect(Batch.admit("logs", together.bytes).bytes).toBe(together.bytes); // no field is there twice
      }),
      runs(300),
    );
  });
});
