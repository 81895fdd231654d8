import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { noMetrics, silentLogger } from "../../../../src/runtime/contract/observability.js";
import { AdminError } from "../../../../src/runtime/contract/operations/admin.js";
import { deadLetterLanguage } from "../../../../src/runtime/ottl/compile/dead-letter-language.js";
import { createAdmin } from "../../../../src/runtime/queue/operate/admin.js";
import { directoryNameOf } from "../../../../src/runtime/queue/operate/directory-name.js";
import type { Audit } from "../../../../src/runtime/queue/records/audit.js";
import { createOperatorRecords } from "../../../../src/runtime/queue/records/operator-records.js";
import { storeExists } from "../../../../src/runtime/queue/store/level/open/summary-file.js";
import { LevelStore } from "../../../../src/runtime/queue/store/level-store.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { temporaryFolder } from "../../../support/temporary-folder.js";
import { control, deadLetter, memoryRecords } from "../operate/controls.js";

/** The records of a directory, as an agent that runs on it has them. */
function recordsIn(folder: string, clock: FakeClock, auditRetentionMs = 0) {
  const records = createOperatorRecords({
    clock,
    logger: silentLogger,
    createStore: (id) =>
      new LevelStore({
        exporter: id,
        directory: join(folder, directoryNameOf(id)),
        durability: "process",
        intervalMs: 0,
      }),
    exists: (id) => storeExists(join(folder, directoryNameOf(id))),
    auditRetentionMs,
    historyRetentionMs: 0,
  });
  onTestFinished(() => records.close());
  return records;
}

const noted = (audit: Audit, target: string) =>
  audit.add({ actor: "ann" }, { action: "reveal", target, outcome: "done" });

describe("the audit", () => {
  it("is there after a restart, the newest first, and makes no files before something is done", async () => {
    const folder = await temporaryFolder();
    const first = recordsIn(folder, new FakeClock());
    expect(await first.audit.list({})).toEqual({ records: [] });
    expect(await storeExists(join(folder, directoryNameOf("operators/audit")))).toBe(false);
    for (const target of ["a", "b", "c"]) await noted(first.audit, target);
    await first.close();
    const { audit } = recordsIn(folder, new FakeClock());
    const { records } = await audit.list({});
    expect(records.map(({ target }) => target)).toEqual(["c", "b", "a"]);
    expect(records[0]).toEqual({
      at: expect.any(Number),
      actor: "ann",
      action: "reveal",
      target: "c",
      outcome: "done",
    });
  });

  it("is shown in pages, each record once, and by filters", async () => {
    const clock = new FakeClock();
    const { audit } = memoryRecords(clock);
    for (let i = 0; i < 5; i++) {
      await audit.add({ actor: i % 2 === 0 ? "ann" : "bob" }, { action: "pause", target: `${i}`, outcome: "done" });
      clock.advance(1000);
    }
    const targets: (string | undefined)[] = [];
    for (let cursor: string | undefined; ; ) {
      const page = await audit.list({ limit: 2, cursor });
      targets.push(...page.records.map(({ target }) => target));
      cursor = page.cursor;
      if (cursor === undefined) break;
    }
    expect(targets).toEqual(["4", "3", "2", "1", "0"]);
    const start = clock.now() - 5000;
    const found = await audit.list({ actor: "ann", since: start + 1000, until: start + 4000 });
    expect(found.records.map(({ target }) => target)).toEqual(["2"]);
    await expect(audit.list({ action: "dance" })).rejects.toMatchObject({ code: "bad_request" });
    await expect(audit.list({ cursor: "x" })).rejects.toMatchObject({ code: "bad_request" });
    await expect(audit.list({ limit: 0 })).rejects.toMatchObject({ code: "bad_request" });
  });

  it("forgets what is older than its retention", async () => {
    const clock = new FakeClock();
    const { audit } = recordsIn(await temporaryFolder(), clock, 3_600_000);
    await noted(audit, "old");
    clock.advance(3_600_001);
    await noted(audit, "new");
    expect((await audit.list({})).records.map(({ target }) => target)).toEqual(["new"]);
  });
});

describe("an admin for somebody", () => {
  async function setUp() {
    const clock = new FakeClock();
    const a = await control("a");
    const records = memoryRecords(clock);
    const services = {
      clock,
      logger: silentLogger,
      metrics: noMetrics,
      running: { config: { generation: "2" } },
      language: deadLetterLanguage,
      records,
    };
    const admin = createAdmin(new Map([["a", a]]), services);
    const acting = admin.actingAs({ actor: "ann", from: "10.0.0.7", reason: "INC-17" });
    const last = async () => (await admin.audit({ limit: 1 })).records[0];
    return { a, admin, acting, last, clock, records };
  }

  it("keeps who changed what, with its outcome", async () => {
    const { a, acting, last } = await setUp();
    const { entry } = await deadLetter(a);
    await deadLetter(a);
    const ann = { actor: "ann", from: "10.0.0.7", reason: "INC-17", outcome: "done" };
    acting.pause("a");
    await expect.poll(last).toMatchObject({ ...ann, action: "pause", target: "a" });
    acting.forceBreaker("a", "open");
    await expect.poll(last).toMatchObject({ ...ann, action: "breaker", filter: { state: "open" } });
    await acting.payload(entry.id, { reveal: true });
    expect(await last()).toMatchObject({ ...ann, action: "reveal", target: entry.id });
    await acting.replay({ ids: [entry.id] }, { by: "ann", approved: true });
    expect(await last()).toMatchObject({ ...ann, action: "replay", target: entry.id, count: 1 });
    await acting.deleteDeadLetters({ query: { exporter: "a" } });
    expect(await last()).toMatchObject({ ...ann, action: "delete", filter: { exporter: "a" }, count: 1 });
    await expect(acting.deleteDeadLetters({ ids: ["nobody-1"] })).rejects.toThrow();
    expect(await last()).toMatchObject({ action: "delete", outcome: expect.stringMatching(/^failed: there is no/) });
  });

  it("keeps who looked for what in records, once for all its pages and for a while", async () => {
    const { a, admin, acting, clock } = await setUp();
    for (let n = 0; n < 3; n++) await deadLetter(a, { body: `card ${n}` });
    const kept = async () => (await admin.audit({ action: "search" })).records.map(({ filter }) => filter);
    const { cursor } = await acting.listDeadLetters({ text: "card", limit: 1, since: 1 });
    await acting.listDeadLetters({ text: "card", limit: 1, cursor: cursor! });
    await acting.deadLetterGroups({ text: "card", since: 2 });
    await acting.deadLetterStats({ text: "card" });
    await acting.replay({ query: { text: "card" } }, { by: "ann", dryRun: true });
    await acting.deleteDeadLetters({ query: { text: "card" } }, { dryRun: true });
    expect(await kept()).toEqual([{ text: "card", since: 1 }]);
    expect((await admin.audit({})).records).toMatchObject([{ actor: "ann", from: "10.0.0.7", outcome: "done" }]);
    await admin.actingAs({ actor: "bob" }).listDeadLetters({ text: "card" });
    for await (const _ of acting.exportDeadLetters({ attribute: "tenant=acme" }));
    await acting.listDeadLetters({ where: `body == "${"x".repeat(5000)}"`, exporter: "a" });
    expect((await kept()).slice(0, 3)).toEqual([
      { where: `body == "${"x".repeat(991)}…`, exporter: "a" },
      { attribute: "tenant=acme" },
      { text: "card" },
    ]);
    clock.advance(600_001);
    await acting.listDeadLetters({ text: "card" });
    expect(await kept()).toHaveLength(5);
  });

  it("looks for nothing in records when the audit cannot be written", async () => {
    const { a, records, acting } = await setUp();
    await deadLetter(a, { body: "card" });
    records.audit.add = () => Promise.reject(new AdminError("unavailable", "the audit cannot be written: full"));
    for (let n = 0; n < 2; n++)
      await expect(acting.listDeadLetters({ text: "card" })).rejects.toThrow("the audit cannot be written");
    expect((await acting.listDeadLetters({ exporter: "a" })).entries).toHaveLength(1);
  });

  it("does not record read-only actions and invalid requests", async () => {
    const { a, admin, acting } = await setUp();
    await deadLetter(a);
    await acting.deleteDeadLetters({ query: {} }, { dryRun: true });
    await acting.replay({ query: {} }, { by: "ann", dryRun: true });
    await acting.listDeadLetters({});
    await expect(acting.listDeadLetters({ where: "attributes[" })).rejects.toThrow("where");
    expect(() => acting.pause("zzz")).toThrow();
    await expect(acting.replay({ query: {} }, { by: "" })).rejects.toThrow();
    expect(await admin.audit({})).toEqual({ records: [] });
  });

  it("reveals nothing that cannot be kept in the audit", async () => {
    const clock = new FakeClock();
    const a = await control("a");
    const { entry } = await deadLetter(a);
    const createStore = () => {
      throw new Error("the disk is gone");
    };
    const settings = {
      clock,
      logger: silentLogger,
      createStore,
      exists: async () => false,
      auditRetentionMs: 0,
      historyRetentionMs: 0,
    };
    const records = createOperatorRecords(settings);
    const services = {
      clock,
      logger: silentLogger,
      metrics: noMetrics,
      running: { config: { generation: "2" } },
      language: deadLetterLanguage,
      records,
    };
    const acting = createAdmin(new Map([["a", a]]), services).actingAs({ actor: "ann", reason: "x" });
    await expect(acting.payload(entry.id, { reveal: true })).rejects.toMatchObject({ code: "unavailable" });
    await expect(acting.exportDeadLetters({}, { reveal: true })[Symbol.asyncIterator]().next()).rejects.toThrow(
      "the disk is gone",
    );
    acting.pause("a");
    expect(a.paused).toBe(true);
  });
});
