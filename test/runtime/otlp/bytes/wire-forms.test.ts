import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Batch } from "../../../../src/runtime/otlp/batch.js";
import { editRecords } from "../../../../src/runtime/otlp/edit/edit-records.js";
import { decodeTree, encodeTree, type Tree } from "../../../../src/runtime/otlp/json/tree.js";
import { SIGNALS } from "../../../../src/runtime/otlp/signals/signal.js";
import { runs } from "../../../support/runs.js";
import { referenceEncode } from "../../../support/telemetry/otlp-reference.js";
import { request } from "../../../support/telemetry/telemetry-arbitraries.js";
import { expectSame, expectSameBytes, meaning } from "../../../support/telemetry/trees.js";
import { type Oddities, rewritten, unknownFields } from "../../../support/telemetry/wire-forms.js";

const FORMS: [string, Oddities][] = [
  ["with fields in any order", { shuffled: true }],
  ["with padded tags, lengths and varints", { padded: true }],
  ["with singular fields twice", { repeated: true }],
  ["with numbers unpacked", { unpacked: true }],
  ["with unknown fields", { unknown: true }],
  ["with all of these", { shuffled: true, padded: true, repeated: true, unpacked: true, unknown: true }],
];

describe.each(SIGNALS)("%s on the wire", (signal) => {
  it.each(FORMS)("mean the same %s", (_, oddities) => {
    fc.assert(
      fc.property(request(signal), fc.integer(), (tree, seed) => {
        const usual = Batch.admit(signal, referenceEncode(signal, tree));
        const odd = Batch.admit(signal, rewritten(signal, usual.bytes, oddities, seed));
        expect(odd.count).toBe(usual.count);
        expectSame(meaning(decodeTree(odd)), meaning(tree));
      }),
      runs(16),
    );
  });

  it("keep unknown fields through a tree", () => {
    fc.assert(
      fc.property(request(signal), fc.integer(), (tree, seed) => {
        const odd = rewritten(signal, referenceEncode(signal, tree), { unknown: true, shuffled: true }, seed);
        const again = encodeTree(signal, decodeTree(Batch.admit(signal, odd)));
        expectSame(unknownFields(signal, again.bytes).sort(), unknownFields(signal, odd).sort());
        expectSame(meaning(decodeTree(again)), meaning(tree));
      }),
      runs(16),
    );
  });

  it("are taken as they are unless a singular field comes twice", () => {
    fc.assert(
      fc.property(request(signal), fc.integer(), (tree, seed) => {
        const odd = { shuffled: true, padded: true, unpacked: true, unknown: true };
        const bytes = rewritten(signal, referenceEncode(signal, tree), odd, seed);
        expect(Batch.admit(signal, bytes).bytes).toBe(bytes);
      }),
      runs(16),
    );
  });
});

describe("a singular field that comes twice", () => {
  const text = (value: string) => [...Buffer.from(value)];
  const field = (number: number, ...body: number[]) => [number * 8 + 2, body.length, ...body];
  const logs = (...record: number[]) =>
    Batch.admit("logs", Uint8Array.from(field(1, ...field(2, ...field(2, ...record)))));
  const only = (batch: Batch) => {
    const tree = decodeTree(batch) as unknown as { resourceLogs: { scopeLogs: { logRecords: Tree[] }[] }[] };
    return tree.resourceLogs[0]!.scopeLogs[0]!.logRecords[0]!;
  };
  const stringValue = (value: string) => field(1, ...text(value));

  it("hides no attribute from a processor: the last key counts", () => {
    const batch = logs(
      ...field(6, ...field(1, ...text("ok")), ...field(1, ...text("password")), ...field(2, ...stringValue("x"))),
    );
    const clean = editRecords(batch, (record) => {
      expect(record.attributes.get("password")).toBe("x");
      expect(record.attributes.has("ok")).toBe(false);
      record.attributes.delete("password");
    });
    expect(only(clean)).toEqual({});
  });

  it("hides no value: the last member of a choice counts", () => {
    const batch = logs(...field(5, ...stringValue("first"), 3 * 8, 7, ...stringValue("last"), 3 * 8, 8));
    expect(only(batch)).toEqual({ body: { intValue: 8n } });
    editRecords(batch, (record) => expect(record.signal === "logs" && record.body).toBe(8));
  });

  it("merges the lists of a repeated value, and drops a value that another oneof choice replaces", () => {
    const array = (value: string) => field(5, ...field(1, ...stringValue(value)));
    expect(only(logs(...field(5, ...array("a")), ...field(5, ...array("b"))))).toEqual({
      body: { arrayValue: { values: [{ stringValue: "a" }, { stringValue: "b" }] } },
    });
    expect(only(logs(...field(5, ...array("a"), 3 * 8, 1, ...array("b"))))).toEqual({
      body: { arrayValue: { values: [{ stringValue: "b" }] } },
    });
  });

  it("counts only the points of the last kind of data of a metric", () => {
    const metric = field(2, ...field(5, ...field(1), ...field(1)), ...field(7, ...field(1)));
    const batch = Batch.admit("metrics", Uint8Array.from(field(1, ...field(2, ...metric))));
    expect(batch.count).toBe(1);
    editRecords(batch, (record) => expect(record.signal === "metrics" && record.type).toBe("sum"));
  });

  it("merges two resources into one", () => {
    const attribute = (key: string) => field(1, ...field(1, ...text(key)), ...field(2, ...stringValue("v")));
    const container = field(
      1,
      ...field(1, ...attribute("a")),
      ...field(2, ...field(2)),
      ...field(1, ...attribute("b")),
    );
    const batch = Batch.admit("logs", Uint8Array.from(container));
    const clean = editRecords(batch, (record) => {
      expect(record.resource.attributes.keys()).toEqual(["a", "b"]);
      record.resource.attributes.delete("b");
    });
    expect(Buffer.from(clean.bytes).includes("b")).toBe(false);
  });

  it("is put right only once", () => {
    const batch = logs(1 * 8 + 1, 1, 0, 0, 0, 0, 0, 0, 0, 1 * 8 + 1, 2, 0, 0, 0, 0, 0, 0, 0);
    expect(only(batch)).toEqual({ timeUnixNano: 2n });
    expectSameBytes(Batch.admit("logs", batch.bytes).bytes, batch.bytes);
  });
});
