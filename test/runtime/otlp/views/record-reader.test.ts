import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { batchFromJson, batchToJson, editRecords } from "../../../../src/plugin.js";
import { Batch } from "../../../../src/runtime/otlp/batch.js";
import { RecordViews, readRecords } from "../../../../src/runtime/otlp/edit/edit-records.js";
import { partitionByMarks } from "../../../../src/runtime/otlp/edit/partition.js";
import { decodeTree } from "../../../../src/runtime/otlp/json/tree.js";
import { SIGNALS } from "../../../../src/runtime/otlp/signals/signal.js";
import { RecordReader } from "../../../../src/runtime/otlp/views/record-reader.js";
import { KEEP, type RecordVisitor, RecordWalk } from "../../../../src/runtime/otlp/views/record-walk.js";
import { runs } from "../../../support/runs.js";
import { referenceEncode } from "../../../support/telemetry/otlp-reference.js";
import { request } from "../../../support/telemetry/telemetry-arbitraries.js";
import { expectSame, meaning, recordsOf } from "../../../support/telemetry/trees.js";
import { rewritten } from "../../../support/telemetry/wire-forms.js";

const ODD = { unknown: true, shuffled: true, padded: true, unpacked: true };

describe.each(SIGNALS)("a reader of %s", (signal) => {
  it("reads what a view reads", () => {
    fc.assert(
      fc.property(request(signal), fc.integer(), (tree, seed) => {
        const batch = Batch.admit(signal, rewritten(signal, referenceEncode(signal, tree), ODD, seed));
        const walk = new RecordWalk(batch);
        const reader = new RecordReader(walk);
        const views = new RecordViews(walk);
        const visitor: RecordVisitor = {
          visit(_, start, end) {
            reader.moveTo(start, end);
            const view = views.at(start, end);
            expect(reader.name()).toBe(view.name);
            for (const key of view.attributes.keys()) expectSame(reader.attribute(key), view.attributes.get(key));
            for (const key of view.resource.attributes.keys())
              expectSame(reader.resourceAttribute(key), view.resource.attributes.get(key));
            expect(reader.attribute("no such key")).toBe(view.attributes.get("no such key"));
            if (view.signal === "traces") expect(reader.hasSpanEvents()).toBe(view.events.length > 0);
            return KEEP;
          },
        };
        walk.run(visitor);
      }),
      runs(24),
    );
  });

  it("parts a batch by marks: each record in one of the two, in order, with what surrounds it", () => {
    fc.assert(
      fc.property(request(signal), fc.array(fc.boolean(), { minLength: 1 }), (tree, pattern) => {
        const batch = Batch.admit(signal, referenceEncode(signal, tree));
        const marks = Uint8Array.from({ length: batch.count }, (_, i) => (pattern[i % pattern.length] ? 1 : 0));
        const [unmarked, marked] = partitionByMarks(batch, marks);
        const of = (one: Batch | undefined) =>
          recordsOf(signal, one === undefined ? {} : decodeTree(one)).map(
            ({ record, resourceContainer, scopeContainer }) => [
              meaning(record),
              resourceContainer["resource"],
              scopeContainer["scope"],
            ],
          );
        const all = of(batch);
        expectSame(
          of(unmarked),
          all.filter((_, i) => marks[i] === 0),
        );
        expectSame(
          of(marked),
          all.filter((_, i) => marks[i] === 1),
        );
        expect([unmarked?.count ?? 0, marked?.count ?? 0]).toEqual([of(unmarked).length, of(marked).length]);
        if (batch.count > 0 && !marks.includes(1)) expect(unmarked).toBe(batch);
      }),
      runs(24),
    );
  });

  it("renames an attribute and back without a change of its value", () => {
    fc.assert(
      fc.property(request(signal), (tree) => {
        const batch = Batch.admit(signal, referenceEncode(signal, tree));
        const rename = (one: Batch, choose: (keys: readonly string[]) => readonly [string, string] | undefined) =>
          editRecords(one, (record) => {
            const pair = choose(record.attributes.keys());
            if (pair !== undefined) expect(record.attributes.rename(...pair)).toBe(true);
          });
        const there = rename(batch, (keys) => (keys[0] === undefined ? undefined : [keys[0], `${keys[0]} \u0001`]));
        const back = rename(there, (keys) => {
          const moved = keys.find((key) => key.endsWith(" \u0001"));
          return moved === undefined ? undefined : [moved, moved.slice(0, -2)];
        });
        const values = (one: Batch) => {
          const all: unknown[] = [];
          readRecords(one, (record) => void all.push(record.attributes.toObject()));
          return all;
        };
        expectSame(values(back), values(batch));
      }),
      runs(24),
    );
  });
});

describe("views", () => {
  const batch = batchFromJson(
    "traces",
    JSON.stringify({
      resourceSpans: [
        {
          schemaUrl: "https://x/1.0.0",
          scopeSpans: [{ spans: [{ name: "a", attributes: [], events: [{ name: "e" }] }, { name: "b" }] }],
        },
      ],
    }),
  );

  it("set the schema URL of resources and scopes, present or not", () => {
    const edited = editRecords(batch, (record) => {
      record.resource.schemaUrl = "https://x/2.0.0";
      record.scope.schemaUrl = "https://y/3.0.0";
      expect([record.resource.schemaUrl, record.scope.schemaUrl]).toEqual(["https://x/2.0.0", "https://y/3.0.0"]);
    });
    readRecords(edited, (record) => {
      expect([record.resource.schemaUrl, record.scope.schemaUrl]).toEqual(["https://x/2.0.0", "https://y/3.0.0"]);
    });
    expect(Batch.admit("traces", edited.bytes).count).toBe(2);
  });

  it("forget their changes, also those to their parts", () => {
    const same = editRecords(batch, (record) => {
      if (record.signal !== "traces") return;
      record.name = "changed";
      record.attributes.set("k", 1);
      for (const event of record.events) event.name = "changed";
      record.revert();
      expect(record.name).not.toBe("changed");
    });
    expect(batchToJson(same)).toBe(batchToJson(batch));
    expect(same).toBe(batch);
  });
});
