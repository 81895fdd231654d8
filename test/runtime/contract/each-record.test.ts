import { describe, expect, it } from "vitest";
import { type Delivery, eachRecord, type LogRecordView } from "../../../src/plugin.js";
import { bodies, logs } from "../../support/batches.js";
import { feed, owed } from "../../support/deliveries.js";

const all = (out: readonly Delivery[]) => out.map(({ batch, setback }) => [setback?.message, ...bodies(batch)]);

describe("eachRecord", () => {
  it("edits, drops and keeps records one by one", () => {
    const { source, out } = feed(
      eachRecord((record) => {
        if (record.signal === "logs" && record.body === "drop me") return "drop";
        record.attributes.set("seen", true);
        return "keep";
      }),
    );
    source.next(owed(logs("a", "drop me", "b")).delivery);
    expect(all(out)).toEqual([[undefined, "a", "b"]]);
  });

  it("acknowledges a batch that lost all its records", () => {
    const { source, out } = feed(eachRecord(() => "drop"));
    const { delivery, outcomes } = owed(logs("a"));
    source.next(delivery);
    expect(out).toEqual([]);
    expect(outcomes).toMatchObject([{ ok: true }]);
  });

  it("passes a batch it did not change as the very same bytes", () => {
    const { source, out } = feed(eachRecord((record) => record.attributes.has("a")));
    const { delivery } = owed(logs("a", "b"));
    source.next(delivery);
    expect(out[0]!.batch).toBe(delivery.batch);
  });

  it("takes what an edit gives back for no answer", () => {
    const { source, out } = feed(eachRecord((record) => record.attributes.set("seen", true)));
    source.next(owed(logs("a")).delivery);
    expect(all(out)).toEqual([[undefined, "a"]]);
  });

  it("makes several records of one, each with the changes made before", () => {
    const { source, out } = feed(
      eachRecord((record: LogRecordView) => {
        const words = String(record.body).split(" ");
        record.attributes.set("of", words.length);
        record.split(words, (part, word) => {
          part.body = `${word}/${part.attributes.get("of")}`;
          if (word === "b") part.drop();
        });
      }),
    );
    source.next(owed(logs("a b c", "d")).delivery);
    expect(all(out)).toEqual([[undefined, "a/3", "c/3", "d/1"]]);
    expect(out[0]!.batch.count).toBe(3);
  });

  it("takes dead letters out as they came in, alike ones together, and shares the debt among all", () => {
    const { source, out } = feed(
      eachRecord((record: LogRecordView) => {
        const body = String(record.body);
        record.attributes.set("seen", true);
        if (body.startsWith("bad")) return { deadLetter: "bad" };
        return body === "odd" ? { deadLetter: { message: "odd", code: "ODD", category: "business" } } : undefined;
      }),
    );
    const { delivery, outcomes } = owed(logs("a", "bad 1", "odd", "b", "bad 2"));
    source.next(delivery);
    expect(all(out)).toEqual([
      [undefined, "a", "b"],
      ["bad", "bad 1", "bad 2"],
      ["odd", "odd"],
    ]);
    expect(out[1]!.setback).toMatchObject({ reason: "rejected", code: "SLUICE_REJECTED", category: "rejected" });
    expect(out[2]!.setback).toMatchObject({ reason: "rejected", code: "ODD", category: "business" });
    for (const each of out) each.accept();
    expect(outcomes).toMatchObject([{ ok: true }]);
  });

  it("passes on nothing but dead letters when there is nothing else", () => {
    const { source, out } = feed(eachRecord(() => ({ deadLetter: "all" })));
    source.next(owed(logs("a", "b")).delivery);
    expect(all(out)).toEqual([["all", "a", "b"]]);
  });

  it("waits for a function that answers later, and keeps the order of batches", async () => {
    const { source, out } = feed(
      eachRecord(async (record: LogRecordView) => {
        await null;
        if (record.body === "drop") return "drop";
        if (record.body === "bad") return { deadLetter: "bad" };
        record.resource.attributes.set("seen", true);
        record.body = `${record.body}!`;
        return "keep";
      }),
    );
    source.next(owed(logs("a", "drop", "bad", "b")).delivery);
    source.next(owed(logs("c")).delivery);
    await expect.poll(() => out.length).toBe(3);
    expect(all(out)).toEqual([
      [undefined, "a!", "b!"],
      ["bad", "bad"],
      [undefined, "c!"],
    ]);
  });

  it("is busy with as many records at a time as it may", async () => {
    let busy = 0;
    let most = 0;
    const { source, out } = feed(
      eachRecord(
        async () => {
          most = Math.max(most, ++busy);
          await new Promise((resolve) => setImmediate(resolve));
          busy--;
        },
        { concurrency: 3 },
      ),
    );
    source.next(owed(logs(..."abcdefgh")).delivery);
    await expect.poll(() => out.length).toBe(1);
    expect(most).toBe(3);
  });

  it("refuses the batch of which one record's answer is a rejection", async () => {
    const { source, out } = feed(
      eachRecord(async (record: LogRecordView) => {
        if (record.body === "bad") throw new Error("no");
      }),
    );
    const { delivery, outcomes } = owed(logs("a", "bad", "b"));
    source.next(delivery);
    await expect.poll(() => outcomes).toMatchObject([{ ok: false, refusal: { message: "no" } }]);
    expect(out).toEqual([]);
  });
});
