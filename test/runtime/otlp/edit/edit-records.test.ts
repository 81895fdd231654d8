import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Batch } from "../../../../src/runtime/otlp/batch.js";
import { type AnyRecordView, editRecords, readRecords } from "../../../../src/runtime/otlp/edit/edit-records.js";
import { decodeTree } from "../../../../src/runtime/otlp/json/tree.js";
import { SIGNALS, type Signal } from "../../../../src/runtime/otlp/signals/signal.js";
import { runs } from "../../../support/runs.js";
import { type Edit, edits, editTree } from "../../../support/telemetry/edits.js";
import { referenceDecode, referenceEncode } from "../../../support/telemetry/otlp-reference.js";
import { request } from "../../../support/telemetry/telemetry-arbitraries.js";
import { expectSame, meaning, recordsOf } from "../../../support/telemetry/trees.js";
import { rewritten, unknownFields } from "../../../support/telemetry/wire-forms.js";

function apply(batch: Batch, plan: readonly Edit[]): Batch {
  let index = 0;
  return editRecords(batch, (record) => {
    const edit = plan[index++ % plan.length]!;
    for (const change of edit.changes) change.toView(record);
    return edit.drop ? "drop" : undefined;
  });
}

describe.each(SIGNALS)("editing %s", (signal) => {
  it("gives the very same batch back when nothing changes", () => {
    fc.assert(
      fc.property(request(signal), fc.integer(), (tree, seed) => {
        const odd = { unknown: true, shuffled: true, padded: true, unpacked: true };
        const batch = Batch.admit(signal, rewritten(signal, referenceEncode(signal, tree), odd, seed));
        let seen = 0;
        const same = editRecords(batch, (record) => {
          readAll(record);
          seen++;
        });
        expect(same).toBe(batch);
        expect(seen).toBe(batch.count);
      }),
      runs(24),
    );
  });

  it("agrees with the same edits on the tree", () => {
    fc.assert(
      fc.property(request(signal), edits(signal), (tree, plan) => {
        const batch = Batch.admit(signal, referenceEncode(signal, tree));
        const before = Buffer.from(batch.bytes);
        const edited = apply(batch, plan);
        expectEdited(signal, edited, decodeTree(batch), plan);
        expect(before.equals(batch.bytes)).toBe(true);
      }),
      runs(30),
    );
  });

  it("agrees with the same edits on the tree, for every form of the bytes", () => {
    fc.assert(
      fc.property(request(signal), edits(signal), fc.integer(), (tree, plan, seed) => {
        const odd = { shuffled: true, padded: true, repeated: true, unpacked: true };
        const batch = Batch.admit(signal, rewritten(signal, referenceEncode(signal, tree), odd, seed));
        expectEdited(signal, apply(batch, plan), decodeTree(batch), plan);
      }),
      runs(30),
    );
  });

  it("keeps unknown fields of everything that it does not drop", () => {
    fc.assert(
      fc.property(request(signal), edits(signal), fc.integer(), (tree, plan, seed) => {
        const odd = { unknown: true, shuffled: true };
        const batch = Batch.admit(signal, rewritten(signal, referenceEncode(signal, tree), odd, seed));
        const edited = apply(batch, plan);
        expectEdited(signal, edited, decodeTree(batch), plan);
        const kept = plan.map(({ changes }) => ({ drop: false, changes: changes.filter(keepsFields) }));
        const wanted = unknownFields(signal, batch.bytes).sort();
        expectSame(unknownFields(signal, apply(batch, kept).bytes).sort(), wanted);
      }),
      runs(20),
    );
  });

  it("can drop everything", () => {
    fc.assert(
      fc.property(request(signal), (tree) => {
        const batch = Batch.admit(signal, referenceEncode(signal, tree));
        const empty = editRecords(batch, (record) => record.drop());
        expect(empty.count).toBe(0);
        expect(Batch.admit(signal, empty.bytes).count).toBe(0);
        expect(recordsOf(signal, decodeTree(empty))).toEqual([]);
      }),
      runs(15),
    );
  });
});

function expectEdited(
  signal: Signal,
  edited: Batch,
  model: ReturnType<typeof decodeTree>,
  plan: readonly Edit[],
): void {
  editTree(signal, model, plan);
  expectSame(meaning(decodeTree(edited), true), meaning(model, true));
  expect(edited.count).toBe(recordsOf(signal, model).length);
  expect(Batch.admit(signal, edited.bytes).count).toBe(edited.count);
  referenceDecode(signal, edited.bytes);
}

/** A changed attribute or body is written anew: what was unknown inside the old one goes with it. */
function keepsFields({ name }: { name: string }): boolean {
  return !/ |body/.test(name);
}

function readAll(record: AnyRecordView): void {
  record.attributes.toObject();
  record.resource.attributes.keys();
  record.scope.attributes.entries();
  record.attributes.delete("no such attribute");
  expect([record.name, record.scope.name, record.flags].length).toBe(3);
  if (record.signal === "logs") expect(record.body).not.toBe(undefined);
  if (record.signal === "traces") for (const part of [...record.events, ...record.links]) part.attributes.toObject();
  if (record.signal === "metrics")
    expect([record.fields(), record.value, record.count, record.metric.unit].length).toBe(4);
}

describe("editRecords", () => {
  const bytes = referenceEncode("logs", {
    resourceLogs: [
      { scopeLogs: [{ logRecords: [{ severityText: "a" }, { severityText: "b" }, { severityText: "c" }] }] },
    ],
  });

  it("leaves the batch as it was when the function throws", () => {
    const batch = Batch.admit("logs", bytes);
    const before = Buffer.from(bytes);
    const edit = () =>
      editRecords(batch, (record) => {
        record.attributes.set("k", 1);
        if (record.signal === "logs" && record.severityText === "c") throw new Error("no");
      });
    expect(edit).toThrow("no");
    expect(before.equals(batch.bytes)).toBe(true);
  });

  it("works on a batch of several chunks", () => {
    const merged = Batch.merge([Batch.admit("logs", bytes), Batch.empty("logs"), Batch.admit("logs", bytes)]);
    const edited = editRecords(merged, (record) => {
      record.attributes.set("k", true);
    });
    const seen: unknown[] = [];
    readRecords(edited, (record) => {
      seen.push(record.attributes.get("k"));
    });
    expect(seen).toEqual([true, true, true, true, true, true]);
  });
});
