import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Batch } from "../../../../src/runtime/otlp/batch.js";
import { SHAPES } from "../../../../src/runtime/otlp/bytes/signal-shape.js";
import { partition } from "../../../../src/runtime/otlp/edit/partition.js";
import { decodeTree } from "../../../../src/runtime/otlp/json/tree.js";
import { SIGNALS, type Signal } from "../../../../src/runtime/otlp/signals/signal.js";
import { CONTEXT_SHAPES, type ContextName } from "../../../../src/runtime/ottl/paths/context.js";
import { runs } from "../../../support/runs.js";
import { referenceEncode } from "../../../support/telemetry/otlp-reference.js";
import { request } from "../../../support/telemetry/telemetry-arbitraries.js";
import { expectSame, meaning, recordsOf } from "../../../support/telemetry/trees.js";
import { rewritten, unknownFields } from "../../../support/telemetry/wire-forms.js";

const HEAPS = 3;
const odd = { shuffled: true, padded: true, unpacked: true, unknown: true };

/** Every record with what surrounds it, but not its neighbours. */
function placedRecords(batch: Batch): unknown[] {
  return recordsOf(batch.signal, decodeTree(batch)).map(({ record, resourceContainer, scopeContainer, metric }) => {
    const { resource, schemaUrl } = resourceContainer;
    const kind = Object.fromEntries(Object.entries(metric ?? {}).map(([name, value]) => [name, withoutPoints(value)]));
    return [resource, schemaUrl, scopeContainer["scope"], scopeContainer["schemaUrl"], kind, meaning(record)];
  });
}

function withoutPoints(value: unknown): unknown {
  return typeof value === "object" && value !== null && "dataPoints" in value ? { ...value, dataPoints: [] } : value;
}

function oddBatch(signal: Signal, tree: Parameters<typeof referenceEncode>[1], seed: number): Batch {
  return Batch.admit(signal, rewritten(signal, referenceEncode(signal, tree), odd, seed));
}

describe.each(SIGNALS)("partition of %s", (signal) => {
  it("puts every record on its heap, in order, with what surrounds it", () => {
    const choices = fc.array(fc.nat({ max: HEAPS - 1 }), { minLength: 40, maxLength: 40 });
    fc.assert(
      fc.property(request(signal), choices, fc.integer(), (tree, choice, seed) => {
        const batch = oddBatch(signal, tree, seed);
        let index = 0;
        const heaps = partition(batch, SHAPES[signal], HEAPS, () => choice[index++ % choice.length]!);
        const all = placedRecords(batch);
        for (const [i, heap] of heaps.entries()) {
          const expected = all.filter((_, at) => choice[at % choice.length] === i);
          expect(heap?.count ?? 0).toBe(expected.length);
          if (heap === undefined) continue;
          expect(Batch.admit(signal, heap.bytes).count).toBe(heap.count);
          expectSame(placedRecords(heap), expected);
        }
        const full = heaps.filter((heap) => heap !== undefined);
        if (full.length === 1) expect(full[0]).toBe(batch);
        const inRecords = (bytes: Uint8Array) => new Set(unknownFields(signal, bytes).filter(isOfRecord));
        const kept = new Set(full.flatMap((heap) => [...inRecords(heap.bytes)]));
        if (full.length > 0) expectSame([...kept].sort(), [...inRecords(batch.bytes)].sort());
      }),
      runs(30),
    );
  });
});

/** Unknown fields of frames that hold no record go with them; those of records never do. */
function isOfRecord(field: string): boolean {
  return /\.(logRecords|spans|dataPoints)\b/.test(field.split(":")[0]!);
}

describe.each<[ContextName, Signal]>([
  ["resource", "logs"],
  ["resource", "traces"],
  ["resource", "metrics"],
  ["scope", "logs"],
  ["metric", "metrics"],
])("partition by %s of %s", (context, signal) => {
  it("counts the records of each heap", () => {
    fc.assert(
      fc.property(request(signal), (tree) => {
        const batch = Batch.admit(signal, referenceEncode(signal, tree));
        let index = 0;
        const heaps = partition(batch, CONTEXT_SHAPES[context], 2, () => index++ % 2);
        for (const heap of heaps) {
          if (heap !== undefined) expect(Batch.admit(signal, heap.bytes).count).toBe(heap.count);
        }
        const records = heaps.flatMap((heap) => (heap === undefined ? [] : placedRecords(heap)));
        const sorted = (list: unknown[]) => list.map((item) => JSON.stringify(item, plain)).sort();
        expectSame(sorted(records), sorted(placedRecords(batch)));
      }),
      runs(20),
    );
  });
});

function plain(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? `${value}n` : value;
}
