import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Batch, encodeTree } from "../../../../src/plugin.js";
import { SHAPES } from "../../../../src/runtime/otlp/bytes/signal-shape.js";
import { partition } from "../../../../src/runtime/otlp/edit/partition.js";
import { splitByWorker } from "../../../../src/runtime/workers/exchange/split-by-worker.js";
import { splitRecords } from "../../../../src/runtime/workers/exchange/split-records.js";
import { request } from "../../../support/telemetry/telemetry-arbitraries.js";

const bytesOf = (part: Batch | undefined) =>
  part && { bytes: Buffer.from(part.bytes).toString("hex"), count: part.count };

describe("a split of records", () => {
  it.each(["traces", "logs"] as const)("makes the same parts of %s as a partition does", (signal) => {
    fc.assert(
      fc.property(request(signal), fc.infiniteStream(fc.nat(2)), (tree, choices) => {
        const batch = Batch.admit(signal, encodeTree(signal, tree).bytes);
        const chosen = [...choices.take(batch.count)];
        let [i, k] = [0, 0];
        const parts = splitRecords(batch, 3, () => chosen[i++]!);
        const expected = partition(batch, SHAPES[signal], 3, () => chosen[k++]!);
        if (batch.count > 0) expect(parts.map(bytesOf)).toEqual(expected.map(bytesOf));
        else expect(parts).toEqual([batch, undefined, undefined]);
      }),
    );
  });

  it("keeps a batch as it is if all of it belongs to one worker", () => {
    const span = { traceId: new Uint8Array(16).fill(7) };
    const batch = encodeTree("traces", { resourceSpans: [{ scopeSpans: [{ spans: [span, span] }] }] });
    expect(splitByWorker(batch, "trace", 2, 0)).toContain(batch);
  });
});
