import { describe, expect, it, onTestFinished } from "vitest";
import type { AttemptError } from "../../../../src/runtime/contract/operations/entry.js";
import type { ExporterSettings } from "../../../../src/runtime/contract/schema/exporter-settings.js";
import { startDeadLetterMaintenance } from "../../../../src/runtime/queue/dead-letters/dead-letter-maintenance.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { CountedMetrics, control, deadLetter, type FakeControl } from "../operate/controls.js";

const HOUR = 3_600_000;
const transient: AttemptError = { kind: "transient", class: "HTTP 503", message: "later", code: "X" };

async function setup(settings: ExporterSettings, clock = new FakeClock(), a?: FakeControl) {
  a ??= await control("a", settings);
  const metrics = new CountedMetrics();
  const said: object[] = [];
  const note = (fields: object, message: string) => void said.push({ ...fields, message });
  const logger = { debug() {}, info() {}, warn: note, error: note, child: () => logger };
  const stop = startDeadLetterMaintenance(a, { clock, logger, metrics, running: { config: { generation: "2" } } });
  onTestFinished(stop);
  /** Moves on and lets what fell due come to its end. */
  const pass = async (ms: number) => {
    clock.advance(ms);
    for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
  };
  const ids = async () => (await a.store.failed(undefined, 1000, "oldest")).map(({ entry }) => entry.id);
  return { a, clock, metrics, said, pass, ids, stop };
}

describe("retention", () => {
  it("removes what is too old by itself, counted and logged", async () => {
    const { a, clock, pass, ids, metrics, said } = await setup({ dead_letter: { retention: HOUR } });
    await deadLetter(a, { at: clock.now() });
    await pass(HOUR / 2);
    const { entry: young } = await deadLetter(a, { at: clock.now() });
    expect(await ids()).toHaveLength(2);
    await pass(HOUR / 2);
    await pass(5000);
    expect(await ids()).toEqual([young.id]);
    expect(metrics.counts).toEqual({ "sluice_dead_letters_expired{exporter=a,cause=retention}": 1 });
    expect(said).toEqual([expect.objectContaining({ exporter: "a", cause: "retention", entries: 1, items: 1 })]);
    await pass(HOUR / 2);
    await pass(5000);
    expect(await ids()).toEqual([]);
  });

  it("removes nothing while the clock is a month ahead for some time, and logs that once", async () => {
    const { a, clock, pass, ids, said } = await setup({ dead_letter: { retention: 720 * HOUR } });
    for (let i = 0; i < 3; i++) await deadLetter(a, { at: clock.now() });
    await pass(5000);
    clock.set(clock.now() + 31 * 24 * HOUR);
    for (let i = 0; i < 4; i++) await pass(5000);
    expect(await ids()).toHaveLength(3);
    expect(said).toEqual([expect.objectContaining({ kept: 3, message: expect.stringMatching(/clock has jumped/) })]);
    clock.set(clock.now() - 31 * 24 * HOUR);
    for (let i = 0; i < 3; i++) await pass(HOUR);
    expect(await ids()).toHaveLength(3);
    expect(said).toHaveLength(1);
  });

  it("does not remove what was written while the clock was ten years behind, when the clock is right again", async () => {
    const { a, clock, pass, ids } = await setup({ dead_letter: { retention: 24 * HOUR } });
    const behind = 87_600 * HOUR;
    await pass(5000);
    // The clock was a minute ahead before it was set back.
    await deadLetter(a, { at: clock.now() - behind, clockBehindMs: behind + 60_000 });
    await deadLetter(a, { at: clock.now() - behind });
    await pass(HOUR);
    await pass(5000);
    expect(await ids()).toHaveLength(1);
    for (let i = 0; i < 25; i++) await pass(HOUR);
    expect(await ids()).toEqual([]);
  });

  it("removes what was written after the clock, which had been ten years ahead, was set right", async () => {
    const { a, clock, pass, ids } = await setup({ dead_letter: { retention: HOUR } });
    await deadLetter(a, { at: clock.now(), clockBehindMs: 87_600 * HOUR });
    for (let i = 0; i < 3; i++) await pass(HOUR);
    expect(await ids()).toEqual([]);
  });

  it("believes a clock that has run on for an hour after it jumped", async () => {
    const { a, clock, pass, ids } = await setup({ dead_letter: { retention: 720 * HOUR } });
    await deadLetter(a, { at: clock.now() });
    await pass(5000);
    clock.set(clock.now() + 31 * 24 * HOUR);
    await pass(5000);
    await pass(HOUR);
    await pass(5000);
    expect(await ids()).toEqual([]);
  });

  it.each([
    [10_000, 2],
    [2 * HOUR, 0],
  ])(
    "does not believe a clock that is ahead when the agent starts, for an hour: after %i ms %i are left",
    async (ms, left) => {
      const clock = new FakeClock();
      const a = await control("a", { dead_letter: { retention: 720 * HOUR } });
      for (let i = 0; i < 2; i++) await deadLetter(a, { at: clock.now() });
      clock.set(clock.now() + 31 * 24 * HOUR);
      const { pass, ids } = await setup({}, clock, a);
      await deadLetter(a, { at: clock.now() });
      for (let i = 0; i < 2; i++) await pass(ms / 2);
      await pass(5000);
      expect(await ids()).toHaveLength(left + 1);
    },
  );

  it("does not believe a clock that is ahead because a dead letter was made by it before a restart", async () => {
    const clock = new FakeClock();
    const a = await control("a", { dead_letter: { retention: 720 * HOUR } });
    for (let i = 0; i < 2; i++) await deadLetter(a, { at: clock.now() });
    clock.set(clock.now() + 31 * 24 * HOUR);
    await deadLetter(a, { at: clock.now() });
    for (let restarts = 0; restarts < 3; restarts++) {
      const { pass, ids, stop } = await setup({}, clock, a);
      for (let i = 0; i < 3; i++) await pass(5000);
      expect(await ids()).toHaveLength(3);
      stop();
    }
  });

  it("removes what is too old also in an agent that never runs for an hour", async () => {
    const clock = new FakeClock();
    const a = await control("a", { dead_letter: { retention: 24 * HOUR } });
    await deadLetter(a, { at: clock.now() });
    for (let restarts = 0; restarts < 50; restarts++) {
      const { pass, stop } = await setup({}, clock, a);
      for (let i = 0; i < 6; i++) await pass(HOUR / 12);
      await pass(5000);
      stop();
      clock.advance(2 * 60_000);
    }
    expect(a.store.stats.failed.entries).toBe(0);
    expect(await a.store.notes.load()).toHaveLength(1);
  });

  it("removes what was deleted when its time is over, and is not late for a short one", async () => {
    const { a, clock, pass, ids } = await setup({ dead_letter: { keep_deleted: HOUR / 6, retention: 24 * HOUR } });
    await pass(5000);
    const [kept, deleted] = [await deadLetter(a, { at: clock.now() }), await deadLetter(a, { at: clock.now() })];
    await a.store.fail(deleted.ref, { ...deleted.entry, deletedAt: clock.now() });
    await pass(HOUR / 6 - 10_000);
    expect(await ids()).toHaveLength(2);
    await pass(10_000);
    await pass(5000);
    expect(await ids()).toEqual([kept.entry.id]);
  });

  it("keeps each category as long as it says", async () => {
    const { a, clock, pass, ids } = await setup({
      dead_letter: { retention: HOUR, retention_by_category: { schema: 3 * HOUR, business: 0, unknown: HOUR / 2 } },
    });
    const made: Record<string, string> = {};
    for (const category of ["schema", "business", "unknown", "integration"])
      made[category] = (await deadLetter(a, { at: clock.now(), category })).entry.id;
    const left = async () => {
      const present = await ids();
      return Object.keys(made).filter((category) => present.includes(made[category]!));
    };
    await pass(HOUR / 2);
    await pass(5000);
    expect(await left()).toEqual(["schema", "business", "integration"]);
    await pass(HOUR / 2);
    await pass(5000);
    expect(await left()).toEqual(["schema", "business"]);
    for (let i = 0; i < 3; i++) await pass(HOUR);
    expect(await left()).toEqual(["business"]);
  });

  it("keeps for ever when it is 0", async () => {
    const { a, pass, ids } = await setup({ dead_letter: { retention: 0 } });
    await deadLetter(a, { at: 0 });
    await pass(24 * HOUR);
    expect(await ids()).toHaveLength(1);
  });

  it.each([
    ["oldest", [2, 3]],
    ["newest", [0, 1]],
  ] as const)("removes the %s beyond max_entries", async (drop, kept) => {
    const { a, clock, pass, ids, metrics } = await setup({ dead_letter: { max_entries: 2, drop } });
    const made: string[] = [];
    for (let i = 0; i < 4; i++) made.push((await deadLetter(a, { at: clock.now() })).entry.id);
    await pass(5000);
    expect(await ids()).toEqual(kept.map((index) => made[index]));
    expect(metrics.counts).toEqual({ "sluice_dead_letters_expired{exporter=a,cause=max_entries}": 2 });
  });

  it("removes beyond max_bytes, and no more than needed", async () => {
    const { a, clock, pass, ids } = await setup({ dead_letter: { max_bytes: 250 } });
    for (let i = 0; i < 10; i++) await deadLetter(a, { at: clock.now(), body: "x".repeat(30) });
    const { bytes } = (await a.store.failed(undefined, 1, "oldest"))[0]!.entry;
    await pass(5000);
    expect(await ids()).toHaveLength(Math.floor(250 / bytes));
  });

  it("leaves pending entries alone", async () => {
    const { a, pass } = await setup({ dead_letter: { max_entries: 1, retention: 1 } });
    const { entry } = await deadLetter(a, { at: 0 });
    await a.store.replay([{ ref: 1, entry }]);
    await pass(HOUR);
    expect(a.store.stats.pending.entries).toBe(1);
  });

  it("continues after a failed round, and ends when it is stopped", async () => {
    const { a, pass, said, ids, clock, stop } = await setup({ dead_letter: { max_entries: 1 } });
    for (let i = 0; i < 2; i++) await deadLetter(a, { at: clock.now() });
    await a.store.close();
    await pass(5000);
    expect(said).toEqual([expect.objectContaining({ message: expect.stringContaining("will try again") })]);
    await a.store.open();
    await pass(5000);
    expect(await ids()).toHaveLength(1);
    stop();
    expect(clock.pending).toBe(0);
  });
});

describe("automatic replay", () => {
  const auto = { enabled: true, interval: 60_000, batch_size: 2, max_age: HOUR, max_replays: 2 };

  it("is off by default", async () => {
    const { a, clock, pass, ids } = await setup({});
    await deadLetter(a, { at: clock.now(), reason: "retry_exhausted", error: transient });
    await pass(60_000);
    expect(await ids()).toHaveLength(1);
  });

  it("puts back one dead letter to probe the backend if the queue is empty and the breaker may probe", async () => {
    const { a, clock, pass } = await setup({ dead_letter: { auto_replay: auto } });
    for (let i = 0; i < 3; i++) await deadLetter(a, { at: clock.now(), reason: "circuit_open", error: transient });
    a.breaker = "open";
    a.breakerSince = clock.now() + 45_000;
    await pass(60_000);
    expect(a.store.stats.pending.entries).toBe(0);
    await pass(60_000);
    expect(a.store.stats.pending.entries).toBe(1);
    await pass(60_000);
    expect(a.store.stats.pending.entries).toBe(1);
  });

  it("puts back dead letters with temporary causes, one batch per interval", async () => {
    const { a, clock, pass } = await setup({ dead_letter: { auto_replay: auto } });
    for (let i = 0; i < 3; i++) await deadLetter(a, { at: clock.now(), reason: "retry_exhausted", error: transient });
    await pass(60_000);
    expect(a.store.stats.pending.entries).toBe(2);
    await pass(60_000);
    expect(a.store.stats.pending.entries).toBe(3);
    const [first] = await a.store.pending(undefined, 1);
    expect(first!.entry.cycles.at(-1)).toMatchObject({ replayedBy: "auto-replay" });
  });

  it("is not held up by dead letters that cannot be replayed", async () => {
    const auto_replay = { enabled: true, interval: 60_000, batch_size: 1 };
    const { a, clock, pass, ids } = await setup({ dead_letter: { auto_replay }, replay: { max_replays: 1 } });
    const passing = { at: clock.now(), reason: "retry_exhausted", error: transient } as const;
    const { entry: tooOften } = await deadLetter(a, { ...passing, replays: 1 });
    await deadLetter(a, passing);
    await deadLetter(a, passing);
    for (let round = 0; round < 4; round++) await pass(60_000);
    expect(await ids()).toEqual([tooOften.id]);
  });

  it("leaves to people what is permanent, poison, risky, too old or was replayed too often", async () => {
    const { a, clock, pass, ids } = await setup({ dead_letter: { auto_replay: auto } });
    const at = clock.now();
    await deadLetter(a, { at });
    await deadLetter(a, { at, reason: "poison", error: transient });
    await deadLetter(a, { at, reason: "partial_success", error: transient });
    await deadLetter(a, { at: at - HOUR, reason: "retry_exhausted", error: transient });
    await deadLetter(a, { at, reason: "retry_exhausted", error: transient, replays: 2 });
    await pass(60_000);
    expect(await ids()).toHaveLength(5);
  });

  it("waits until the exporter has recovered", async () => {
    const { a, clock, pass, ids } = await setup({ dead_letter: { auto_replay: auto } });
    await deadLetter(a, { at: clock.now(), reason: "retry_exhausted", error: transient });
    a.breaker = "open";
    await pass(60_000);
    a.breaker = "closed";
    a.paused = true;
    await pass(60_000);
    a.paused = false;
    a.lastError = { at: clock.now() + 50_000, class: "HTTP 503", message: "later" };
    await pass(60_000);
    expect(await ids()).toHaveLength(1);
    a.lastSentAt = clock.now();
    await pass(60_000);
    expect(await ids()).toHaveLength(0);
  });
});

describe("automatic replay by a schedule", () => {
  const NIGHTLY = { enabled: true, schedule: "0 2 * * *", interval: 60_000, batch_size: 2, max_age: 48 * HOUR };
  const failed = { reason: "retry_exhausted", error: transient } as const;

  /** Starts at one in the morning, with three dead letters. */
  async function atNight(auto_replay: object = NIGHTLY) {
    const clock = new FakeClock();
    clock.set(Date.parse("2026-11-17T01:00:00Z"));
    const all = await setup({ dead_letter: { auto_replay } }, clock);
    for (let i = 0; i < 3; i++) await deadLetter(all.a, { at: clock.now(), ...failed });
    const passHours = async (hours: number) => {
      for (let minutes = 0; minutes < hours * 60; minutes++) await all.pass(60_000);
    };
    return { ...all, passHours, pending: () => all.a.store.stats.pending.entries };
  }

  it("puts back everything at its time, one batch per interval", async () => {
    const { pass, pending, passHours } = await atNight();
    await passHours(59 / 60);
    expect(pending()).toBe(0);
    await pass(60_000);
    expect(pending()).toBe(2);
    await pass(60_000);
    expect(pending()).toBe(3);
  });

  it("leaves what fails after that to the next time", async () => {
    const { a, clock, pending, passHours } = await atNight();
    await passHours(1);
    await deadLetter(a, { at: clock.now() + 1, ...failed });
    await passHours(22);
    expect(pending()).toBe(3);
    await passHours(2);
    expect(pending()).toBe(4);
  });

  it("ends when the backend fails again, and goes on at the next time", async () => {
    const { a, clock, pending, passHours } = await atNight();
    await passHours(1);
    a.lastError = { at: clock.now() + 30_000, class: "HTTP 503", message: "later" };
    await passHours(22);
    expect(pending()).toBe(2);
    await passHours(2);
    expect(pending()).toBe(3);
  });

  it("goes by the clocks of its time zone", async () => {
    const { pending, passHours } = await atNight({ ...NIGHTLY, schedule: "0 3 * * *", time_zone: "Europe/Berlin" });
    await passHours(1);
    expect(pending()).toBe(2);
  });

  it("notices a clock that was set forward or back", async () => {
    const { a, clock, pass, pending, passHours } = await atNight();
    clock.set(Date.parse("2026-11-17T01:58:00Z"));
    await passHours(0.1);
    expect(pending()).toBe(3);
    clock.set(Date.parse("2026-11-16T01:58:00Z"));
    await deadLetter(a, { at: clock.now(), ...failed });
    for (let i = 0; i < 3; i++) await pass(60_000);
    expect(pending()).toBe(4);
  });

  it("makes no dead letter wait for those that cannot be replayed", async () => {
    const { a, clock, ids, passHours } = await atNight({ ...NIGHTLY, max_replays: 1 });
    const { entry: tooOften } = await deadLetter(a, { at: clock.now(), ...failed, replays: 1 });
    await deadLetter(a, { at: clock.now(), ...failed });
    await passHours(1.1);
    expect(await ids()).toEqual([tooOften.id]);
  });
});
