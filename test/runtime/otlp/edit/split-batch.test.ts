import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Batch } from "../../../../src/runtime/otlp/batch.js";
import { type SplitLimits, splitBatch } from "../../../../src/runtime/otlp/edit/split-batch.js";
import { decodeTree } from "../../../../src/runtime/otlp/json/tree.js";
import { SIGNALS, type Signal } from "../../../../src/runtime/otlp/signals/signal.js";
import { runs } from "../../../support/runs.js";
import { referenceEncode } from "../../../support/telemetry/otlp-reference.js";
import { request } from "../../../support/telemetry/telemetry-arbitraries.js";
import { expectSame, meaning, recordsOf } from "../../../support/telemetry/trees.js";
import { rewritten, unknownFields } from "../../../support/telemetry/wire-forms.js";

const limits = fc.record(
  { records: fc.integer({ min: 1, max: 6 }), bytes: fc.integer({ min: 1, max: 600 }) },
  { requiredKeys: [] },
);

/** Every record with what surrounds it, but not its neighbours. */
function placedRecords(signal: Signal, batch: Batch): unknown[] {
  return recordsOf(signal, decodeTree(batch)).map(({ record, resourceContainer, scopeContainer, metric }) => {
    const { resource, schemaUrl } = resourceContainer;
    const kind = Object.fromEntries(Object.entries(metric ?? {}).map(([name, value]) => [name, withoutPoints(value)]));
    return [resource, schemaUrl, scopeContainer["scope"], scopeContainer["schemaUrl"], kind, meaning(record)];
  });
}

function withoutPoints(value: unknown): unknown {
  return typeof value === "object" && value !== null && "dataPoints" in value ? { ...value, dataPoints: [] } : value;
}

describe.each(SIGNALS)("splitting %s", (signal) => {
  it("keeps every record in order with what surrounds it, within the limits", () => {
    fc.assert(
      fc.property(request(signal), limits, fc.integer(), (tree, limits, seed) => {
        const odd = { shuffled: true, padded: true, unpacked: true, unknown: true };
        const batch = Batch.admit(signal, rewritten(signal, referenceEncode(signal, tree), odd, seed));
        const pieces = splitBatch(batch, limits);
        expectWithin(signal, pieces, limits);
        const merged = Batch.merge(pieces.length > 0 ? pieces : [Batch.empty(signal)]);
        expect(merged.count).toBe(batch.count);
        expect(Batch.admit(signal, merged.bytes).count).toBe(batch.count);
        expectSame(placedRecords(signal, merged), placedRecords(signal, batch));
        const unknown = (bytes: Uint8Array) => [...new Set(unknownFields(signal, bytes))].sort();
        expectSame(unknown(merged.bytes), unknown(batch.bytes));
      }),
      runs(30),
    );
  });

  it("cuts only where a limit demands it", () => {
    fc.assert(
      fc.property(request(signal), fc.integer({ min: 1, max: 6 }), (tree, records) => {
        const batch = Batch.admit(signal, referenceEncode(signal, tree));
        const pieces = splitBatch(batch, { records });
        expect(pieces.length).toBe(Math.max(1, Math.ceil(batch.count / records)));
        expect(splitBatch(batch, { records: batch.count, bytes: batch.byteLength })).toEqual([batch]);
      }),
      runs(20),
    );
  });
});

function expectWithin(signal: Signal, pieces: readonly Batch[], limits: SplitLimits): void {
  for (const piece of pieces) {
    expect(Batch.admit(signal, piece.bytes).count).toBe(piece.count);
    expect(piece.byteLength).toBe(piece.bytes.length);
    expect(piece.count).toBeLessThanOrEqual(limits.records ?? Number.POSITIVE_INFINITY);
    if (piece.byteLength > (limits.bytes ?? Number.POSITIVE_INFINITY)) expect(piece.count).toBeLessThanOrEqual(1);
  }
}

describe("splitBatch", () => {
  it("cuts containers without records, too", () => {
    const empty = { resource: { attributes: [{ key: "k", value: { stringValue: "x".repeat(100) } }] } };
    const batch = Batch.admit("logs", referenceEncode("logs", { resourceLogs: new Array(50).fill(empty) }));
    const pieces = splitBatch(batch, { bytes: 1000 });
    expect(Math.max(...pieces.map((piece) => piece.byteLength))).toBeLessThanOrEqual(1000);
    expect(decodeTree(Batch.merge(pieces))).toEqual(decodeTree(batch));
  });

  it("gives a record that is too large a piece of its own", () => {
    const record = (size: number) => ({ severityText: "x".repeat(size) });
    const logRecords = [record(10), record(500), record(10), record(10)];
    const batch = Batch.admit("logs", referenceEncode("logs", { resourceLogs: [{ scopeLogs: [{ logRecords }] }] }));
    expect(splitBatch(batch, { bytes: 100 }).map((piece) => piece.count)).toEqual([1, 1, 2]);
  });
});

describe("Batch.merge", () => {
  const one = Batch.admit("logs", referenceEncode("logs", { resourceLogs: [{ scopeLogs: [{ logRecords: [{}] }] }] }));

  it("takes any number of chunks", () => {
    const many = Batch.merge(new Array(150_000).fill(one));
    const more = Batch.merge([many, many, one]);
    expect(more.count).toBe(300_001);
    expect(more.chunks.length).toBe(300_001);
    expect(Batch.admit("logs", more.bytes).count).toBe(300_001);
  });

  it("refuses to mix signals, and to merge nothing", () => {
    expect(() => Batch.merge([one, Batch.empty("traces")])).toThrow(TypeError);
    expect(() => Batch.merge([])).toThrow(RangeError);
    expect(Batch.merge([one])).toBe(one);
    expect(Batch.empty("logs").bytes.length).toBe(0);
  });
});
