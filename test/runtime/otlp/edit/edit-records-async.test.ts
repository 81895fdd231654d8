import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Batch } from "../../../../src/runtime/otlp/batch.js";
import { editRecords } from "../../../../src/runtime/otlp/edit/edit-records.js";
import { editRecordsAsync } from "../../../../src/runtime/otlp/edit/edit-records-async.js";
import { decodeTree } from "../../../../src/runtime/otlp/json/tree.js";
import { SIGNALS } from "../../../../src/runtime/otlp/signals/signal.js";
import { runs } from "../../../support/runs.js";
import { type Edit, edits } from "../../../support/telemetry/edits.js";
import { referenceEncode } from "../../../support/telemetry/otlp-reference.js";
import { request } from "../../../support/telemetry/telemetry-arbitraries.js";
import { recordsOf } from "../../../support/telemetry/trees.js";

function applied(edit: Edit, record: Parameters<Parameters<typeof editRecords>[1]>[0]): "drop" | undefined {
  for (const change of edit.changes) change.toView(record);
  return edit.drop ? "drop" : undefined;
}

describe.each(SIGNALS)("editing %s with a function that may answer later", (signal) => {
  it("gives the bytes of the same edits made at once", async () => {
    await fc.assert(
      fc.asyncProperty(
        request(signal),
        edits(signal),
        fc.array(fc.boolean(), { minLength: 1 }),
        async (tree, plan, later) => {
          const batch = Batch.admit(signal, referenceEncode(signal, tree));
          const editOf = (index: number) => plan[index % plan.length]!;
          let index = 0;
          const expected = editRecords(batch, (record) => applied(editOf(index++), record));
          const seen: number[] = [];
          const edited = await editRecordsAsync(batch, (record, i) => {
            seen.push(i);
            if (!later[i % later.length]) return applied(editOf(i), record);
            return Promise.resolve().then(() => applied(editOf(i), record));
          });
          expect(seen).toEqual(Array.from({ length: batch.count }, (_, i) => i));
          expect(Buffer.compare(edited.bytes, expected.bytes)).toBe(0);
          expect(edited.count).toBe(expected.count);
        },
      ),
      runs(30),
    );
  });

  it("answers at once, and with the same batch, when nothing is changed or late", () => {
    fc.assert(
      fc.property(request(signal), (tree) => {
        const batch = Batch.admit(signal, referenceEncode(signal, tree));
        expect(editRecordsAsync(batch, () => undefined)).toBe(batch);
      }),
      runs(20),
    );
  });
});

describe.each(SIGNALS)("splitting %s", (signal) => {
  it("replaces one record with the requested number of records", () => {
    fc.assert(
      fc.property(request(signal), fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1 }), (tree, counts) => {
        const batch = Batch.admit(signal, referenceEncode(signal, tree));
        let index = 0;
        const split = editRecords(batch, (record) => {
          const count = counts[index++ % counts.length]!;
          record.split(Array.from({ length: count }), (part, _, i) => void part.attributes.set("part", i));
        });
        const expected = recordsOf(signal, decodeTree(batch)).flatMap((_, i) =>
          Array.from({ length: counts[i % counts.length]! }, (_part, k) => k),
        );
        const found: unknown[] = [];
        editRecords(split, (record) => void found.push(record.attributes.get("part")));
        expect(found).toEqual(expected);
        expect(split.count).toBe(expected.length);
        Batch.admit(signal, split.bytes);
      }),
      runs(30),
    );
  });
});
