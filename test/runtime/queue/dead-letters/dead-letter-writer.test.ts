import { describe, expect, it } from "vitest";
import { batchFromJson } from "../../../../src/plugin.js";
import { MemoryStore } from "../../../../src/runtime/queue/store/memory-store.js";
import { StoreError } from "../../../../src/runtime/queue/store/store.js";
import { owed } from "../../../support/deliveries.js";
import { http, refusing, startQueue } from "../queue.js";

describe("an entry that becomes a dead letter", () => {
  it("is logged once, with its id, exporter, events, last error and attempts, and never its records", async () => {
    const queue = await startQueue({
      settings: { circuit_breaker: { enabled: false }, retry_on_failure: { max_retries: 2 } },
      backend: async () => {
        throw http(500);
      },
    });
    const logRecords = [{ eventName: "order.paid", body: { stringValue: "private" } }];
    const batch = batchFromJson("logs", JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }));
    queue.outlet.accept(owed(batch).delivery, "logs/orders");
    await queue.pass(30_000, 500);
    const [entry] = await queue.deadLetters();
    const told = queue.lines.filter(({ fields }) => fields.id === entry?.id);
    expect(told).toEqual([
      {
        level: "warn",
        message: "could not be delivered: kept as a dead letter",
        fields: {
          id: entry?.id,
          exporter: "out",
          pipeline: "logs/orders",
          reason: "retry_exhausted",
          rule: "max_retries",
          category: "downstream_error",
          blame: "entry",
          error: "HTTP 500",
          message: "HTTP 500: no",
          events: ["order.paid"],
          items: 1,
          attempts: 3,
          calls: 3,
        },
      },
    ]);
    expect(JSON.stringify(queue.lines)).not.toContain("private");
    expect(queue.metrics.value("sluice_dead_letter_attempts")).toBe(1);
    expect(queue.metrics.value("sluice_dead_letters_bytes")).toBe(entry?.bytes);
    queue.clock.advance(60_000);
    expect(queue.metrics.value("sluice_dead_letters_oldest_age")).toBeGreaterThanOrEqual(60);
  });
});

describe("a dead letter that is written after the clock was set back", () => {
  it("says how far the clock was behind", async () => {
    const queue = await startQueue({ backend: refusing(() => true) });
    queue.send("while the clock is right");
    await queue.pass(1000, 100);
    queue.clock.set(queue.clock.now() - 86_400_000);
    queue.send("while it is a day behind");
    await queue.pass(1000, 100);
    const behind = (await queue.deadLetters()).map(({ failure }) => failure?.clockBehindMs);
    expect(behind).toEqual([undefined, 86_400_000]);
  });
});

describe("a store that fails", () => {
  it("to write a dead letter is counted, blocks nothing, and is retried without another call", async () => {
    const store = new MemoryStore({ exporter: "out" });
    const { fail } = store;
    let isBroken = true;
    store.fail = (ref, entry) =>
      isBroken ? Promise.reject(new StoreError("io", "EIO")) : fail.call(store, ref, entry);
    const queue = await startQueue({ store, backend: refusing((body) => body === "bad") });
    queue.send("bad");
    queue.send("good");
    await queue.settle();
    expect(queue.taken).toEqual(["good"]);
    expect(queue.metrics.value("sluice_dead_letter_write_failures")).toBe(1);
    isBroken = false;
    await queue.pass(5000);
    expect(await queue.deadLetters()).toHaveLength(1);
    expect(queue.calls).toHaveLength(2);
  });
});

describe("the filter", () => {
  it("decides what is saved, and what it discards is counted", async () => {
    const settings = { dead_letter: { filter: { never_save: ["severity < 17"] } } };
    const queue = await startQueue({ settings, backend: refusing(() => true, 409) }).catch((error: Error) => error);
    if (queue instanceof Error) throw queue;
    queue.send("a");
    await queue.settle();
    expect(await queue.deadLetters()).toEqual([]);
    expect(await queue.pending()).toEqual([]);
    expect(queue.metrics.value("sluice_dead_letters_filtered_out")).toBe(1);
    expect(queue.lines.some(({ message }) => message.includes("discarded"))).toBe(true);
  });
});

describe("the category of what is refused for good", () => {
  it("is the one that dead_letter.category_on names for its status", async () => {
    const settings = { dead_letter: { category_on: { business: ["409"] } } };
    const queue = await startQueue({ settings, backend: refusing(() => true, 409) });
    queue.send("a");
    await queue.settle();
    expect((await queue.deadLetters()).map(({ failure }) => failure!.category)).toEqual(["business"]);
  });
});

describe("a replay that fails again", () => {
  it("has the time when it first failed in this cycle; that of the one before is in the history", async () => {
    const queue = await startQueue({ backend: refusing(() => true, 409) });
    const firstFailed = async () => (await queue.deadLetters()).map(({ firstFailedAt }) => firstFailedAt);
    const began = queue.clock.now();
    queue.send("a");
    await queue.settle();
    expect(await firstFailed()).toEqual([began]);
    await queue.pass(60_000);
    await queue.replayAll();
    await queue.settle();
    expect((await queue.deadLetters())[0]).toMatchObject({ replays: 1, failure: { at: began + 60_000 } });
    expect(await firstFailed()).toEqual([began + 60_000]);
    expect((await queue.deadLetters())[0]?.cycles).toMatchObject([{ firstFailedAt: began }]);
  });

  it("is counted, and is a dead letter with one more cycle", async () => {
    const queue = await startQueue({ backend: refusing(() => true, 409) });
    queue.send("a");
    await queue.settle();
    for (const times of [1, 2]) {
      await queue.replayAll();
      await queue.settle();
      expect(queue.metrics.value("sluice_dead_letter_replays_failed")).toBe(times);
      expect((await queue.deadLetters()).map(({ cycles, replays }) => [cycles.length, replays])).toEqual([
        [times, times],
      ]);
    }
  });
});
