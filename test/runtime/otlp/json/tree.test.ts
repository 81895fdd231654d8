import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Batch } from "../../../../src/runtime/otlp/batch.js";
import { decodeTree, encodeTree, type Tree } from "../../../../src/runtime/otlp/json/tree.js";
import { isMalformed } from "../../../../src/runtime/otlp/signals/malformed.js";
import { SIGNALS } from "../../../../src/runtime/otlp/signals/signal.js";
import { runs } from "../../../support/runs.js";
import { referenceDecode, referenceEncode } from "../../../support/telemetry/otlp-reference.js";
import { request } from "../../../support/telemetry/telemetry-arbitraries.js";
import { expectSame, expectSameBytes, meaning, recordsOf } from "../../../support/telemetry/trees.js";

describe.each(SIGNALS)("a tree of %s", (signal) => {
  it("means what the reference encoder was given, byte for byte there and back", () => {
    fc.assert(
      fc.property(request(signal), (tree) => {
        const bytes = referenceEncode(signal, tree);
        const batch = Batch.admit(signal, bytes);
        const decoded = decodeTree(batch);
        expectSame(meaning(decoded), meaning(tree));
        expectSameBytes(encodeTree(signal, decoded).bytes, bytes);
        expect(batch.count).toBe(recordsOf(signal, tree).length);
      }),
      runs(30),
    );
  });

  it("is encoded so that the reference decoder reads the same", () => {
    fc.assert(
      fc.property(request(signal), (tree) => {
        const batch = encodeTree(signal, tree);
        expectSame(meaning(referenceDecode(signal, batch.bytes)), meaning(tree));
        expect(batch.count).toBe(recordsOf(signal, tree).length);
      }),
      runs(20),
    );
  });
});

describe("encodeTree", () => {
  const record = (fields: object) => ({ resourceLogs: [{ scopeLogs: [{ logRecords: [fields] }] }] }) as unknown as Tree;

  it("keeps the fields that are younger than the reference", () => {
    const logs = record({ eventName: "login" });
    expect(decodeTree(encodeTree("logs", logs))).toEqual(logs);
    const entity = { schemaUrl: "s", type: "service", idKeys: ["a", "b"], descriptionKeys: ["c"] };
    const resource = { resourceLogs: [{ resource: { entityRefs: [entity] } }] } as unknown as Tree;
    expect(decodeTree(encodeTree("logs", resource))).toEqual(resource);
    const spans = { resourceSpans: [{ scopeSpans: [{ spans: [{ flags: 257, links: [{ flags: 3 }] }] }] }] };
    expect(decodeTree(encodeTree("traces", spans as unknown as Tree))).toEqual(spans);
    const metadata = [{ key: "k", value: { boolValue: true } }];
    const metrics = { resourceMetrics: [{ scopeMetrics: [{ metrics: [{ metadata }] }] }] } as unknown as Tree;
    expect(decodeTree(encodeTree("metrics", metrics))).toEqual(metrics);
  });

  it("names the path of what does not fit", () => {
    const wrong: [object, RegExp][] = [
      [
        { timeUnixNano: "soon" },
        /^resourceLogs\[0\]\.scopeLogs\[0\]\.logRecords\[0\]\.timeUnixNano: expected an integer/,
      ],
      [{ timeUnixNano: -1n }, /timeUnixNano: expected an integer from 0 to/],
      [{ flags: 2 ** 32 }, /flags: expected an integer from 0 to/],
      [{ attributes: [{ key: "a" }, { key: 1 }] }, /attributes\[1\]\.key: expected a string/],
      [{ attributes: {} }, /attributes: expected a list/],
      [{ body: [] }, /body: expected an object/],
      [{ body: { boolValue: 1 } }, /body\.boolValue: expected true or false/],
      [{ traceId: "xyz" }, /traceId: expected hex/],
      [{ body: { bytesValue: "!" } }, /bytesValue: expected base64/],
      [{ severityNumber: "LOUD" }, /severityNumber: expected an integer/],
    ];
    for (const [fields, message] of wrong) {
      const error = thrownBy(() => encodeTree("logs", record(fields)));
      expect(isMalformed(error)).toBe(true);
      expect((error as Error).message).toMatch(message);
    }
  });

  it("names the place of a number that does not fit in a list of numbers", () => {
    const histogram = { dataPoints: [{ bucketCounts: [1n, 2n, -1n] }] };
    const tree = { resourceMetrics: [{ scopeMetrics: [{ metrics: [{ histogram }] }] }] } as unknown as Tree;
    expect(() => encodeTree("metrics", tree)).toThrow(/bucketCounts\[2\]: expected an integer/);
  });

  const LEVELS: [string, (value: Tree) => Tree][] = [
    ["lists", (value) => ({ arrayValue: { values: [value] } })],
    ["maps", (value) => ({ kvlistValue: { values: [{ key: "k", value }] } })],
  ];

  it.each(LEVELS)("refuses just the nesting of %s that the check of incoming bytes refuses", (_, around) => {
    let body: Tree = { stringValue: "x" };
    const taken: boolean[] = [];
    for (let depth = 0; depth < 110; depth++) {
      const tree = record({ body, attributes: [{ key: "k", value: body }] });
      const admitted = thrownBy(() => Batch.admit("logs", referenceEncode("logs", tree))) === undefined;
      const encoded = thrownBy(() => encodeTree("logs", tree)) === undefined;
      expect(encoded).toBe(admitted);
      taken.push(encoded);
      body = around(body);
    }
    expect([taken[60], taken[100]]).toEqual([true, false]);
  });
});

function thrownBy(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return error;
  }
  return undefined;
}
