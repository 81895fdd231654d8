import { describe, expect, it } from "vitest";
import { type Delivery, eachRecord, type LogRecordView } from "../../../../src/plugin.js";
import { FakeClock } from "../../../../src/testing.js";
import { feed, owed } from "../../../support/deliveries.js";
import { bodies, logs } from "../../../support/telemetry/batches.js";

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

  it("refuses a batch if one of its records is rejected", async () => {
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

  it("takes any number for a concurrency", async () => {
    for (const concurrency of [Number.POSITIVE_INFINITY, 1e12, 0, -1, Number.NaN]) {
      const { source, out } = feed(eachRecord(async () => {}, { concurrency }));
      source.next(owed(logs("a", "b", "c")).delivery);
      await expect.poll(() => all(out)).toEqual([[undefined, "a", "b", "c"]]);
    }
  });

  it("shows no more records of a batch that is refused, by a rejection or for its time", async () => {
    const shown: unknown[] = [];
    const clock = new FakeClock();
    const { source } = feed(
      eachRecord(
        async (record: LogRecordView) => {
          shown.push(record.body);
          if (record.body === "bad") throw new Error("no");
          if (record.body === "slow") await new Promise<void>((resolve) => clock.after(200, resolve));
          await new Promise((resolve) => setImmediate(resolve));
        },
        { concurrency: 2, timeoutMs: 100, clock },
      ),
    );
    const failing = owed(logs("a", "bad", "b", "c", "d", "e"));
    source.next(failing.delivery);
    await expect.poll(() => failing.outcomes).toMatchObject([{ ok: false }]);
    const slow = owed(logs("slow", "slow", "f", "g"));
    source.next(slow.delivery);
    await expect.poll(() => shown.filter((body) => body === "slow")).toHaveLength(2);
    await clock.pass(1000, 100);
    expect(slow.outcomes).toMatchObject([{ ok: false, refusal: { code: "SLUICE_TIMEOUT" } }]);
    expect(shown).toEqual(["a", "bad", "slow", "slow"]);
  });

  it("edits all records, also of a batch whose sender has its answer already", async () => {
    const { source, out } = feed(
      eachRecord(async (record: LogRecordView) => {
        await null;
        record.body = `${record.body}!`;
      }),
    );
    const early = owed(logs("a", "b"));
    early.delivery.accept();
    source.next(early.delivery);
    const meanwhile = owed(logs("c", "d"));
    source.next(meanwhile.delivery);
    meanwhile.delivery.accept();
    await expect.poll(() => out.length).toBe(2);
    expect(all(out)).toEqual([
      [undefined, "a!", "b!"],
      [undefined, "c!", "d!"],
    ]);
  });

  it.each([
    ["undefined", (record: LogRecordView) => record.attributes.set("a", undefined as never)],
    ["a function", (record: LogRecordView) => record.attributes.set("a", { deep: [() => {}] } as never)],
    ["an integer of more than 64 bits", (record: LogRecordView) => record.attributes.set("a", 2n ** 64n)],
    ["a text for a number", (record: LogRecordView) => void (record.severityNumber = "high" as never)],
    ["an id that is none", (record: LogRecordView) => void (record.traceId = "no hex")],
  ])("is to blame, and not the data, when it sets %s", (_what, edit) => {
    const { source } = feed(eachRecord(edit));
    const { delivery, outcomes } = owed(logs("a"));
    source.next(delivery);
    expect(outcomes).toMatchObject([{ ok: false, refusal: { kind: "transient", unexpected: true } }]);
  });

  it("leaves out the parts of a split that are dropped, and takes no promises for them", () => {
    const dropping = feed(
      eachRecord((record: LogRecordView) => {
        record.split([1, 2, 3], (part, item) => {
          part.body = item;
          return item === 2 ? "drop" : undefined;
        });
      }),
    );
    dropping.source.next(owed(logs("a")).delivery);
    expect(all(dropping.out)).toEqual([[undefined, "1", "3"]]);
    const later = feed(eachRecord((record: LogRecordView) => record.split([1], async () => {})));
    const { delivery, outcomes } = owed(logs("a"));
    later.source.next(delivery);
    expect(outcomes).toMatchObject([{ ok: false, refusal: { message: expect.stringContaining("asynchronous") } }]);
  });
});
