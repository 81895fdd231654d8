import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Batch } from "../../../../src/plugin.js";
import {
  batchOfSlices,
  maxBytesOf,
  type SpanSlice,
  sliceByTrace,
} from "../../../../src/processors/sampling/tail/trace-slices.js";
import { decodeTree } from "../../../../src/runtime/otlp/json/tree.js";
import { runs } from "../../../support/runs.js";
import { referenceEncode } from "../../../support/telemetry/otlp-reference.js";
import { request } from "../../../support/telemetry/telemetry-arbitraries.js";
import { recordsOf } from "../../../support/telemetry/trees.js";
import { rewritten } from "../../../support/telemetry/wire-forms.js";

/** Unknown fields between spans, and tags and lengths that are longer than necessary, separate adjacent spans. */
const oddities = fc.record({ unknown: fc.boolean(), shuffled: fc.boolean(), padded: fc.boolean() });

/** Every span with its surroundings, as text. */
function spansOf(batch: Batch): string[] {
  const plain = (value: unknown) =>
    JSON.stringify(value, (_, v) => (typeof v === "bigint" ? `${v}n` : v instanceof Uint8Array ? [...v] : v));
  return recordsOf("traces", decodeTree(batch)).map(({ record, resourceContainer, scopeContainer }) => {
    const { scopeSpans: _, ...ofResource } = resourceContainer;
    const { spans: __, ...ofScope } = scopeContainer;
    return plain([record, ofResource, ofScope]);
  });
}

describe("a batch of spans of several traces", () => {
  it("contains each span unchanged, in order, with its surroundings, in at most the predicted number of bytes", () => {
    const one = fc.tuple(request("traces"), oddities, fc.integer());
    fc.assert(
      fc.property(fc.array(one, { minLength: 1, maxLength: 3 }), fc.infiniteStream(fc.nat(99)), (requests, dice) => {
        const known: { readonly slice: SpanSlice; readonly span: string }[] = [];
        for (const [tree, odd, seed] of requests) {
          const batch = Batch.admit("traces", rewritten("traces", referenceEncode("traces", tree), odd, seed));
          const slices = [...sliceByTrace(batch).values()].flat();
          const inOrder = slices.toSorted((a, b) => a.start - b.start);
          known.push(...spansOf(batch).map((span, i) => ({ slice: inOrder[i]!, span })));
        }
        const roll = () => dice.next().value as number;
        const kept = known.filter(() => roll() < 80);
        if (roll() < 30) kept.reverse();
        const batch = batchOfSlices(kept.map(({ slice }) => slice));
        expect(spansOf(batch)).toEqual(kept.map(({ span }) => span));
        expect(batch.count).toBe(kept.length);
        expect(batch.byteLength).toBeLessThanOrEqual(maxBytesOf(kept.map(({ slice }) => slice)));
        expect(Batch.admit("traces", Buffer.from(batch.bytes)).count).toBe(kept.length);
      }),
      runs(40),
    );
  });
});
