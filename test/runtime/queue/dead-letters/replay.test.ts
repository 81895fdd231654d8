import { describe, expect, it, vi } from "vitest";
import { silentLogger } from "../../../../src/runtime/contract/observability.js";
import type { ReplayOptions, Selection } from "../../../../src/runtime/contract/operations/admin.js";
import type { ExporterSettings } from "../../../../src/runtime/contract/schema/exporter-settings.js";
import { deadLetterLanguage } from "../../../../src/runtime/ottl/compile/dead-letter-language.js";
import { createAdmin } from "../../../../src/runtime/queue/operate/admin.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { CountedMetrics, control, deadLetter, memoryRecords } from "../operate/controls.js";
import { http, startQueue } from "../queue.js";

async function setup(settings: ExporterSettings = {}) {
  const a = await control("a", settings);
  const clock = new FakeClock();
  const metrics = new CountedMetrics();
  const records = memoryRecords(clock);
  const admin = createAdmin(new Map([["a", a]]), {
    clock,
    logger: silentLogger,
    metrics,
    running: { config: { generation: "2" } },
    language: deadLetterLanguage,
    records,
  });
  const replay = (selection: Selection, options: Partial<ReplayOptions> = {}) =>
    admin.replay(selection, { by: "ann", ...options });
  return { a, clock, metrics, records, admin, replay };
}

/** Runs all callbacks that wait only for other promises. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

describe("a replay", () => {
  it("puts the entry back: its cycle is in the history, its counters are reset, its id is the same", async () => {
    const { a, clock, replay, admin, metrics } = await setup();
    const { entry } = await deadLetter(a);
    const report = await replay({ ids: [entry.id] });
    expect(report).toEqual({ selected: 1, replayed: 1, skipped: {}, examples: [] });
    const [pending] = await a.store.pending(undefined, 10);
    const { failure, firstFailedAt, lastAttemptAt, lastError, ...rest } = entry;
    expect(pending!.entry).toEqual({
      ...rest,
      state: "pending",
      attempts: 0,
      calls: 0,
      history: [],
      replays: 1,
      generation: "2",
      cycles: [
        {
          failure,
          attempts: 6,
          calls: 7,
          firstFailedAt,
          lastError,
          generation: "1",
          replayedAt: clock.now(),
          replayedBy: "ann",
        },
      ],
    });
    expect(a.woken).toBe(1);
    expect((await admin.listDeadLetters({})).entries).toEqual([]);
    expect(metrics.counts).toEqual({ "sluice_dead_letters_replayed{exporter=a}": 1 });
  });

  it("leaves a dead letter whose source does not run and would not learn of it, unless it is approved", async () => {
    const { a, replay } = await setup();
    const { ref, entry } = await deadLetter(a);
    await a.store.fail(ref, { ...entry, source: { ...entry.source, receiver: "outbox", message: "17" } });
    expect(await replay({ ids: [entry.id] })).toMatchObject({
      replayed: 0,
      skipped: { skip_source: 1 },
      examples: [{ message: expect.stringContaining("the receiver outbox does not run") }],
    });
    expect(await replay({ ids: [entry.id] }, { approved: true })).toMatchObject({ replayed: 1 });
  });

  it("that fails again is a dead letter with one more cycle", async () => {
    const { a, replay, admin } = await setup();
    const { entry } = await deadLetter(a);
    for (let cycle = 1; cycle <= 2; cycle++) {
      await replay({ query: {} });
      const [pending] = await a.store.pending(undefined, 1);
      await a.store.fail(pending!.ref, { ...pending!.entry, failure: entry.failure! });
      const [again] = (await admin.listDeadLetters({})).entries;
      expect(again).toMatchObject({ id: entry.id, replays: cycle });
      expect(again!.cycles).toHaveLength(cycle);
    }
  });

  it("keeps the last ten cycles", async () => {
    const { a, replay } = await setup();
    const { entry } = await deadLetter(a);
    for (let i = 0; i < 12; i++) {
      await replay({ ids: [entry.id] }, { by: `${i}`, approved: true });
      const [pending] = await a.store.pending(undefined, 1);
      await a.store.fail(pending!.ref, { ...pending!.entry, failure: entry.failure! });
    }
    const { cycles, replays } = (await a.store.find(entry.id))!.entry;
    expect([replays, cycles.map(({ replayedBy }) => replayedBy)]).toEqual([
      12,
      Array.from({ length: 10 }, (_, i) => `${i + 2}`),
    ]);
  });

  it("selects by filter and signature, and at most the limit", async () => {
    const { a, replay } = await setup();
    for (const signature of ["s", "s", "s", "t"]) await deadLetter(a, { signature });
    expect(await replay({ query: { signature: "s", limit: 2 } })).toMatchObject({ selected: 2, replayed: 2 });
    expect(await replay({ query: { signature: "s" } })).toMatchObject({ selected: 1, replayed: 1 });
    expect(a.store.stats.failed.entries).toBe(1);
  });

  it("only counts when it is a dry run", async () => {
    const { a, replay, metrics } = await setup();
    await deadLetter(a);
    await deadLetter(a, { reason: "partial_success" });
    expect(await replay({ query: {} }, { dryRun: true })).toMatchObject({
      selected: 2,
      replayed: 1,
      skipped: { skip_approval: 1 },
    });
    expect([a.store.stats.failed.entries, a.woken, metrics.counts]).toEqual([2, 0, {}]);
  });

  it("needs no approval after a partial success that took nothing", async () => {
    const { a, replay } = await setup();
    const reason = "partial_success" as const;
    await deadLetter(a, { reason, rejected: 1 });
    await deadLetter(a, { reason, rejected: 1, requestItems: 4 });
    expect(await replay({ query: {} })).toMatchObject({ replayed: 1, skipped: { skip_approval: 1 } });
  });

  it.each([
    ["skip_approval", { reason: "partial_success" as const }, true],
    ["skip_max_replays", { replays: 10 }, true],
    ["skip_expired", { at: 0 }, false],
  ])("skips with %s, counted", async (reason, fields, canBeApproved) => {
    const { a, replay, metrics } = await setup();
    const { entry } = await deadLetter(a, { at: 1_700_000_000_000, ...fields });
    expect(await replay({ ids: [entry.id] })).toEqual({
      selected: 1,
      replayed: 0,
      skipped: { [reason]: 1 },
      examples: [{ id: entry.id, reason }],
    });
    expect(metrics.counts).toEqual({ [`sluice_dead_letter_replays_skipped{exporter=a,reason=${reason}}`]: 1 });
    expect((await replay({ ids: [entry.id] }, { approved: true })).replayed).toBe(canBeApproved ? 1 : 0);
  });

  it("skips what is behind an open breaker, unless it is approved", async () => {
    const { a, replay } = await setup();
    a.breaker = "open";
    const { entry } = await deadLetter(a);
    expect((await replay({ ids: [entry.id] })).skipped).toEqual({ skip_downstream: 1 });
    expect((await replay({ ids: [entry.id] }, { approved: true })).replayed).toBe(1);
  });

  it("skips a payload that does not decode any more", async () => {
    const { a, replay } = await setup();
    const { entry, ref } = await deadLetter(a);
    const batch = await a.store.payload(ref);
    batch.bytes.fill(0xff);
    expect((await replay({ ids: [entry.id] }, { approved: true })).skipped).toEqual({ skip_schema: 1 });
  });

  it("leaves what the config wants approved, until it is", async () => {
    const require_approval = [{ category: "business" }, { event: "order.*", reason: "expired" as const }];
    const { a, replay } = await setup({ replay: { require_approval } });
    await deadLetter(a, { category: "business" });
    await deadLetter(a, { names: ["order.paid"], reason: "expired" });
    await deadLetter(a, { names: ["order.paid"], reason: "poison" });
    expect(await replay({ query: {} })).toMatchObject({ replayed: 1, skipped: { skip_approval: 2 } });
    expect(await replay({ query: {} }, { approved: true })).toMatchObject({ replayed: 2, skipped: {} });
  });

  it("takes the generation that the caller names, or that of the agent", async () => {
    const { a, replay } = await setup();
    const ids = [(await deadLetter(a)).entry.id, (await deadLetter(a)).entry.id];
    await replay({ ids: [ids[0]!] }, { generation: "release-42" });
    await replay({ ids: [ids[1]!] });
    const generations = ids.map(async (id) => (await a.store.find(id))!.entry.generation);
    expect(await Promise.all(generations)).toEqual(["release-42", "2"]);
  });

  it("asks in order: approval, schema, expiry, downstream", async () => {
    const { a, replay } = await setup();
    a.breaker = "open";
    const { entry, ref } = await deadLetter(a, { at: 0, reason: "partial_success" });
    const skipped = async (options = {}) => Object.keys((await replay({ ids: [entry.id] }, options)).skipped)[0];
    const bytes = Buffer.from((await a.store.payload(ref)).bytes);
    expect(await skipped()).toBe("skip_approval");
    (await a.store.payload(ref)).bytes.fill(0xff);
    expect(await skipped({ approved: true })).toBe("skip_schema");
    (await a.store.payload(ref)).bytes.set(bytes);
    expect(await skipped({ approved: true })).toBe("skip_expired");
  });

  it("counts ids that are unknown or no dead letters as not found", async () => {
    const { a, replay } = await setup();
    const { entry } = await deadLetter(a);
    expect(await replay({ ids: ["nobody-1", entry.id, entry.id] })).toMatchObject({
      selected: 2,
      replayed: 1,
      skipped: { skip_not_found: 1 },
    });
  });

  it("happens once when it is asked for twice at once", async () => {
    const { a, replay } = await setup();
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) ids.push((await deadLetter(a)).entry.id);
    const write = a.store.replay.bind(a.store);
    a.store.replay = async (changes) => {
      await settle();
      return write(changes);
    };
    const reports = await Promise.all([replay({ ids }), replay({ query: {} }), replay({ ids: ids.slice(2) })]);
    expect(reports.reduce((sum, { replayed }) => sum + replayed, 0)).toBe(5);
    const pending = await a.store.pending(undefined, 100);
    expect(pending.map(({ entry }) => [entry.id, entry.replays]).sort()).toEqual(ids.map((id) => [id, 1]));
  });

  it("ends although everything fails again at once", async () => {
    const { a, replay } = await setup({ replay: { batch_size: 2 } });
    for (let i = 0; i < 250; i++) await deadLetter(a);
    a.onReplayed = async () => {
      for (const { ref, entry } of await a.store.pending(undefined, 100)) {
        await a.store.fail(ref, { ...entry, failure: entry.cycles.at(-1)!.failure });
      }
    };
    expect(await replay({ query: {} }, { rate: 1e6 })).toMatchObject({ selected: 250, replayed: 250 });
  });

  it("goes in batches and not faster than the rate, which can change meanwhile", async () => {
    const { a, clock, replay } = await setup();
    for (let i = 0; i < 130; i++) await deadLetter(a);
    const onProgress = vi.fn();
    const done = replay({ query: {} }, { onProgress });
    const waiting = async () => {
      for (let i = 0; i < 500 && clock.pending === 0; i++) await settle();
      return a.store.stats.pending.entries;
    };
    expect(await waiting()).toBe(50);
    clock.advance(999);
    expect(await waiting()).toBe(50);
    clock.advance(1);
    expect(await waiting()).toBe(100);
    a.replayRate = 10;
    clock.advance(1000);
    expect((await done).replayed).toBe(130);
    expect(onProgress.mock.calls.at(-1)).toEqual([130, 130]);
  });

  it("never puts back more than a second's worth at once", async () => {
    const { a, clock, replay } = await setup();
    for (let i = 0; i < 3; i++) await deadLetter(a);
    const done = replay({ query: {} }, { rate: 0.5 });
    for (const count of [1, 2]) {
      while (clock.pending === 0) await settle();
      expect(a.store.stats.pending.entries).toBe(count);
      clock.advance(2000);
    }
    expect((await done).replayed).toBe(3);
  });

  it("puts back only as many as the backend takes if the rate is 0, and leaves the others when it is cancelled", async () => {
    const { a, clock, records, admin } = await setup();
    Object.assign(a, { hasPipeline: () => true });
    for (let i = 0; i < 1300; i++) await deadLetter(a);
    const id = "without-limit";
    const started = admin.startReplay({ query: {} }, { by: "ann", rate: 0, id });
    const pendingIs = (count: number) => vi.waitFor(() => expect(a.store.stats.pending.entries).toBe(count));
    await pendingIs(1000);
    clock.advance(1000);
    expect(await started).toMatchObject({ state: "running", rate: 0, queued: 1000 });
    for (const { ref, entry } of await a.store.pending(undefined, 120)) {
      await a.store.delete([ref]);
      records.tracker.ended(entry, "delivered");
    }
    await pendingIs(1130);
    expect(records.tracker.pending(id)).toBe(1130);
    await admin.controlReplay(id, "cancel");
    await vi.waitFor(async () => expect((await admin.replayJob(id))?.state).toBe("cancelled"));
    expect(a.store.stats.failed.entries).toBe(50);
    const [cause] = (await admin.replayJob(id))!.causes!;
    expect(cause).toMatchObject({ entries: 1250 });
  });

  it("leaves half of the queue to new data if the rate is 0", async () => {
    const { a, admin } = await setup({ sending_queue: { queue_size: 100, sizer: "requests" } });
    Object.assign(a, { hasPipeline: () => true });
    for (let i = 0; i < 200; i++) await deadLetter(a);
    void admin.startReplay({ query: {} }, { by: "ann", rate: 0 });
    await vi.waitFor(() => expect(a.store.stats.pending.entries).toBe(50));
    for (let i = 0; i < 20; i++) await settle();
    expect(a.store.stats.pending.entries).toBe(50);
  });

  it("puts everything back at once if the rate is 0 and nothing is sent here", async () => {
    const { a, admin } = await setup();
    for (let i = 0; i < 1300; i++) await deadLetter(a);
    const { state } = await admin.startReplay({ query: {} }, { by: "ann", rate: 0 });
    expect([state, a.store.stats.pending.entries]).toEqual(["done", 1300]);
  });

  it("stops at an abort, and keeps what it has done", async () => {
    const { a, clock, replay } = await setup();
    for (let i = 0; i < 60; i++) await deadLetter(a);
    const abort = new AbortController();
    const done = replay({ query: {} }, { abort: abort.signal });
    while (clock.pending === 0) await settle();
    abort.abort();
    expect(await done).toMatchObject({ selected: 50, replayed: 50 });
    expect(clock.pending).toBe(0);
    expect(a.store.stats.failed.entries).toBe(10);
  });

  it.each([
    [{ ids: [] }, {}, "no ids"],
    [{ query: {} }, { by: " " }, "must name the operator"],
    [{ query: {} }, { rate: -1 }, "rate"],
    [{ query: { limit: -1 } }, {}, "limit"],
  ])("refuses %j with %j", async (selection, options, message) => {
    const { replay } = await setup();
    await expect(replay(selection, options)).rejects.toThrow(message);
  });
});

describe("an operator", () => {
  it("puts dead letters back, and they are sent with the same key", async () => {
    let isBad = true;
    const queue = await startQueue({
      backend: async () => {
        if (isBad) throw http(409);
        return undefined;
      },
    });
    queue.send("a");
    await queue.settle();
    isBad = false;
    const [dead] = await queue.store.failed(undefined, 1, "oldest");
    const { failure: _, ...entry } = dead!.entry;
    await queue.replay([{ ref: dead!.ref, entry: { ...entry, attempts: 0, calls: 0, history: [] } }]);
    await queue.settle();
    expect(queue.taken).toEqual(["a"]);
    expect(queue.keys[0]).toBe(queue.keys[1]);
  });
});
