import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { loadedMask, maskBatch } from "../../../../src/agent/mask-batch.js";
import { noMetrics, silentLogger } from "../../../../src/runtime/contract/observability.js";
import type { Admin, DeadLetterQuery } from "../../../../src/runtime/contract/operations/admin.js";
import { FAILURE_REASONS } from "../../../../src/runtime/contract/operations/failure-reasons.js";
import { deadLetterLanguage } from "../../../../src/runtime/ottl/compile/dead-letter-language.js";
import { checkQuery } from "../../../../src/runtime/queue/dead-letters/search/check-query.js";
import { FailureIndexes } from "../../../../src/runtime/queue/dead-letters/search/failure-indexes.js";
import { listPage } from "../../../../src/runtime/queue/dead-letters/search/list-page.js";
import { createAdmin } from "../../../../src/runtime/queue/operate/admin.js";
import { anyCharacter } from "../../../support/any-character.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { runs } from "../../../support/runs.js";
import { hangs, startQueue } from "../queue.js";
import { newEntry } from "../store/entries.js";
import { control, deadLetter, type FakeControl, memoryRecords } from "./controls.js";

beforeAll(async () => void (await loadedMask()));

function adminOf(...controls: FakeControl[]): Admin {
  return adminWith(maskBatch, ...controls);
}

function adminWith(mask: typeof maskBatch | undefined, ...controls: FakeControl[]): Admin {
  const clock = new FakeClock();
  const records = memoryRecords(clock);
  const services = {
    clock,
    logger: silentLogger,
    metrics: noMetrics,
    running: { config: { generation: "2" } },
    records,
    language: deadLetterLanguage,
    mask,
  };
  return createAdmin(new Map(controls.map((each) => [each.id, each])), services);
}

async function all(admin: Admin, query: DeadLetterQuery = {}): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await admin.listDeadLetters({ ...query, ...(cursor !== undefined && { cursor }) });
    ids.push(...page.entries.map(({ id }) => id));
    cursor = page.cursor;
    if (cursor === undefined) return ids;
  }
}

async function linesOf(lines: AsyncIterable<string>): Promise<string[]> {
  const found: string[] = [];
  for await (const line of lines) found.push(line);
  return found;
}

async function* each(lines: readonly string[]) {
  yield* lines;
}

describe("an entry that is being sent", () => {
  it("is in_flight, and a waiting one is pending", async () => {
    const settings = { sending_queue: { num_consumers: 1 }, timeout: "0s" };
    const queue = await startQueue({ settings, backend: hangs });
    queue.send("a");
    queue.send("b");
    await queue.settle();
    const { clock } = queue;
    const services = {
      clock,
      logger: silentLogger,
      metrics: noMetrics,
      running: { config: { generation: "2" } },
      language: deadLetterLanguage,
      records: memoryRecords(clock),
    };
    const admin = createAdmin(new Map([["out", queue.outlet]]), services);
    const ids = (await queue.store.pending(undefined, 2)).map(({ entry }) => entry.id);
    const states = await Promise.all(ids.map(async (id) => (await admin.deadLetter(id))?.state));
    expect(states).toEqual(["in_flight", "pending"]);
  });
});

describe("listing dead letters", () => {
  it("shows the newest first, over all exporters, and pending entries never", async () => {
    const a = await control("a");
    const b = await control("b");
    const first = await deadLetter(a, { at: 1 });
    const second = await deadLetter(b, { at: 2 });
    const third = await deadLetter(a, { at: 3 });
    await a.store.put(newEntry("waiting"));
    const newest = [third, second, first].map(({ entry }) => entry.id);
    expect(await all(adminOf(a, b))).toEqual(newest);
    expect(await all(adminOf(a, b), { limit: 1 })).toEqual(newest);
    expect(await all(adminOf(a, b), { limit: 1, order: "oldest" })).toEqual(newest.reverse());
  });

  it("has no cursor on the last page, even when it is full", async () => {
    const a = await control("a");
    await deadLetter(a);
    await deadLetter(a);
    const page = await adminOf(a).listDeadLetters({ limit: 2 });
    expect(page).toEqual({ entries: [expect.anything(), expect.anything()] });
  });

  it.each<[DeadLetterQuery, number[]]>([
    [{ exporter: "b" }, [2]],
    [{ reason: "poison" }, [1]],
    [{ category: "business" }, [2]],
    [{ signature: "s1" }, [1]],
    [{ signal: "traces" }, []],
    [{ since: 20 }, [2, 1]],
    [{ until: 20 }, [0]],
    [{ since: 10, until: 11 }, [0]],
    [{ event: "order.*" }, [2, 0]],
    [{ event: "order.*", exporter: "a" }, [0]],
  ])("finds by %j", async (query, expected) => {
    const [a, b] = [await control("a"), await control("b")];
    const made = [
      await deadLetter(a, { at: 10, names: ["order.paid"] }),
      await deadLetter(a, { at: 20, reason: "poison", signature: "s1", names: [] }),
      await deadLetter(b, { at: 30, category: "business", names: ["x", "order.sent"] }),
    ];
    const ids = expected.map((index) => made[index]!.entry.id);
    expect(await all(adminOf(a, b), query)).toEqual(ids);
    expect(await all(adminOf(a, b), { ...query, limit: 1 })).toEqual(ids);
  });

  it.each(FAILURE_REASONS)("finds by the reason %s", async (reason) => {
    const a = await control("a");
    const { entry } = await deadLetter(a, { at: 10, reason });
    expect(await all(adminOf(a), { reason })).toEqual([entry.id]);
  });

  it.each<[DeadLetterQuery, string]>([
    [{ limit: 0 }, "limit"],
    [{ limit: 1.5 }, "limit"],
    [{ limit: 1001 }, "limit"],
    [{ reason: "bored" as never }, "expected one of permanent"],
    [{ signal: "smoke" as never }, "logs, traces, metrics"],
    [{ since: Number.NaN }, "since is not a time"],
    [{ since: 5, until: 5 }, "before"],
    [{ cursor: "nonsense" }, "damaged"],
    [{ cursor: "" }, "damaged"],
    [{ cursor: "../../etc" }, "damaged"],
    [{ exporter: "c" }, 'no exporter "c"; there are: a'],
  ])("refuses %j", async (query, message) => {
    const admin = adminOf(await control("a"));
    await expect(admin.listDeadLetters(query)).rejects.toThrow(message);
    await expect(admin.listDeadLetters(query)).rejects.toMatchObject({ name: "AdminError" });
  });

  it("ends a page early when a filter finds little, and continues from there", async () => {
    const [a, b] = [await control("a"), await control("b")];
    const wanted: string[] = [];
    for (let at = 0; at < 60; at++) {
      const { entry } = await deadLetter(at % 2 ? a : b, { at, body: at % 20 === 7 ? "poison" : "wholesome" });
      if (at % 20 === 7) wanted.unshift(entry.id);
    }
    const controls = new Map([a, b].map((each) => [each.id, each]));
    const services = { indexes: new FailureIndexes(), clock: new FakeClock() };
    const found: string[] = [];
    let cursor: string | undefined;
    let pages = 0;
    do {
      const query = { text: "poison", limit: 2, ...(cursor !== undefined && { cursor }) } as const;
      const page = await listPage(controls, checkQuery(query, deadLetterLanguage), services, 10);
      found.push(...page.entries.map(({ id }) => id));
      cursor = page.cursor;
      pages++;
    } while (cursor !== undefined);
    expect(found).toEqual(wanted);
    expect(pages).toBeGreaterThan(3);
  });

  it("takes a cursor on with other times: two hours ago is another time for every page", async () => {
    const a = await control("a");
    for (let at = 0; at < 3; at++) await deadLetter(a, { at: 100 + at });
    const admin = adminOf(a);
    const { cursor } = await admin.listDeadLetters({ limit: 1, since: 50 });
    expect((await admin.listDeadLetters({ since: 51, cursor: cursor! })).entries).toHaveLength(2);
  });

  it("refuses a cursor that was changed, or that belongs to other filters", async () => {
    const a = await control("a");
    for (let i = 0; i < 3; i++) await deadLetter(a);
    const admin = adminOf(a);
    const cursor = (await admin.listDeadLetters({ limit: 1 })).cursor!;
    expect((await admin.listDeadLetters({ limit: 2, cursor })).entries).toHaveLength(2);
    const middle = Math.floor(cursor.length / 2);
    const changed = cursor.slice(0, middle) + (cursor[middle] === "A" ? "B" : "A") + cursor.slice(middle + 1);
    await expect(admin.listDeadLetters({ cursor: changed })).rejects.toThrow("damaged");
    await expect(admin.listDeadLetters({ cursor: cursor.slice(0, -4) })).rejects.toThrow("damaged");
    await expect(admin.listDeadLetters({ cursor, order: "oldest" })).rejects.toThrow("other filters");
    await expect(admin.listDeadLetters({ cursor, reason: "poison" })).rejects.toThrow("other filters");
  });

  it("shows every entry that stays exactly once, whatever is added and removed between the pages", async () => {
    const change = fc.record({
      insert: fc.nat(3),
      remove: fc.array(fc.nat(50), { maxLength: 3 }),
      replay: fc.boolean(),
    });
    const order = fc.constantFrom("oldest" as const, "newest" as const);
    await fc.assert(
      fc.asyncProperty(
        fc.nat(20),
        fc.integer({ min: 1, max: 6 }),
        order,
        fc.array(change),
        async (count, limit, order, changes) => {
          const controls = [await control("a"), await control("b")];
          const admin = adminOf(...controls);
          const ids: string[] = [];
          const add = async () => {
            const { entry } = await deadLetter(controls[ids.length % 2]!, { at: (ids.length * 7) % 5 });
            ids.push(entry.id);
          };
          for (let i = 0; i < count; i++) await add();
          const stayed = new Set(ids);
          const shown: string[] = [];
          for (let cursor: string | undefined; ; ) {
            const page = await admin.listDeadLetters({ limit, order, ...(cursor !== undefined && { cursor }) });
            shown.push(...page.entries.map(({ id }) => id));
            cursor = page.cursor;
            if (cursor === undefined) break;
            const { insert = 0, remove = [], replay = false } = changes.shift() ?? {};
            for (let i = 0; i < insert; i++) await add();
            for (const index of remove) {
              const id = ids[index % ids.length]!;
              if (!stayed.delete(id)) continue;
              if (replay) await admin.replay({ ids: [id] }, { by: "me" });
              else await admin.deleteDeadLetters({ ids: [id] });
            }
          }
          expect(new Set(shown).size).toBe(shown.length);
          expect([...stayed].filter((id) => !shown.includes(id))).toEqual([]);
        },
      ),
      runs(60),
    );
  });
});

describe("one dead letter", () => {
  it("is shown with its records, or not at all", async () => {
    const a = await control("a");
    const { entry } = await deadLetter(a, { body: "hello" });
    const admin = adminOf(await control("other"), a);
    expect(await admin.deadLetter(entry.id)).toEqual(entry);
    expect(JSON.parse((await admin.payload(entry.id, { reveal: true }))!)).toMatchObject({
      resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { stringValue: "hello" } }] }] }],
    });
    expect(await admin.deadLetter("nobody-1")).toBeUndefined();
    expect(await admin.payload("nobody-1")).toBeUndefined();
  });

  it("shows names, versions and schemas masked, also of earlier cycles and in exports, and finds by what they are", async () => {
    const a = await control("a");
    const [name, secret] = ["invite anna@mail.example.com", "1 password=hunter22x"];
    const facts = {
      names: ["order.paid", name],
      eventVersions: [secret, "2"],
      schemaUrls: ["https://u:p4ss@x.example/1.2.0"],
    };
    const made = await deadLetter(a, { body: "hello", ...facts });
    const cycle = {
      failure: made.entry.failure!,
      attempts: 1,
      calls: 1,
      generation: "1",
      replayedAt: 1,
      replayedBy: "x",
    };
    a.store.update(made.ref, { ...made.entry, cycles: [cycle] });
    const admin = adminOf(a);
    const shown = { names: ["order.paid", "invite ****"], eventVersions: ["1 password=****", "2"] };
    const expected = { failure: shown, cycles: [{ failure: shown }] };
    expect(await admin.deadLetter(made.entry.id)).toMatchObject(expected);
    const { entries } = await admin.listDeadLetters({ event: "invite anna@*" });
    expect(entries).toMatchObject([expected]);
    for (const [event, found] of [
      ["invite anna@*", 0],
      ["*anna*", 0],
      ["invite ****", 1],
      ["order.*", 1],
    ] as const) {
      const query = { event, matchesMasked: true };
      expect((await admin.listDeadLetters(query)).entries).toHaveLength(found);
      expect((await admin.deadLetterStats(query)).entries).toBe(found);
      expect(await admin.deleteDeadLetters({ query }, { dryRun: true })).toBe(found);
    }
    const [line] = await linesOf(admin.exportDeadLetters({}));
    for (const text of [JSON.stringify(entries), line]) expect(text).not.toMatch(/anna@|hunter22x|p4ss/);
  });

  it("shows no records that it cannot mask", async () => {
    const a = await control("a");
    const { entry } = await deadLetter(a, { body: "hello" });
    await expect(adminWith(undefined, a).payload(entry.id)).rejects.toThrow("payloads cannot be masked here");
    const exported = linesOf(adminWith(undefined, a).exportDeadLetters({}));
    await expect(exported).rejects.toThrow("payloads cannot be masked here");
    const failing = adminWith(() => Promise.reject(new Error("too deep")), a);
    await expect(failing.payload(entry.id)).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("cannot be masked"),
    });
  });
});

describe("statistics", () => {
  it("group by signature, the most frequent first", async () => {
    const [a, b] = [await control("a"), await control("b")];
    await deadLetter(a, { at: 10, signature: "rare" });
    await deadLetter(a, { at: 30, signature: "often" });
    const { entry: last } = await deadLetter(b, {
      at: 40,
      signature: "often",
      reason: "poison",
      category: "downstream_timeout",
    });
    const stats = await adminOf(a, b).deadLetterStats({});
    expect(stats).toMatchObject({
      entries: 3,
      items: 3,
      oldestAt: 10,
      byReason: { permanent: 2, poison: 1 },
      byCategory: { schema: 2, downstream_timeout: 1 },
      byExporter: { a: 2, b: 1 },
      signatures: [
        { signature: "often", entries: 2, firstAt: 30, lastAt: 40, exampleId: last.id, class: "HTTP 400" },
        { signature: "rare", entries: 1 },
      ],
    });
    expect(await adminOf(a, b).deadLetterStats({ since: 100 })).toMatchObject({ entries: 0, oldestAt: undefined });
  });
});

describe("deleting", () => {
  it("removes the named ones, or those that a query finds", async () => {
    const a = await control("a");
    const ids: string[] = [];
    for (let at = 0; at < 5; at++) ids.push((await deadLetter(a, { at })).entry.id);
    const admin = adminOf(a);
    expect(await admin.deleteDeadLetters({ ids: [ids[0]!, ids[0]!] })).toBe(1);
    expect(await admin.deleteDeadLetters({ query: { since: 3 } }, { dryRun: true })).toBe(2);
    expect(await admin.deleteDeadLetters({ query: { since: 3 } })).toBe(2);
    expect(await all(admin, { order: "oldest" })).toEqual([ids[1], ids[2]]);
  });

  it("can be undone for as long as the config says, and hides them until then", async () => {
    const a = await control("a", { dead_letter: { keep_deleted: 3_600_000 } });
    const ids: string[] = [];
    for (let at = 0; at < 3; at++) ids.push((await deadLetter(a, { at, signature: `s${at}` })).entry.id);
    const admin = adminOf(a);
    expect(await admin.deleteDeadLetters({ query: { until: 2 } })).toBe(2);
    expect(await all(admin, { order: "oldest" })).toEqual([ids[2]]);
    expect(await all(admin, { order: "oldest", deleted: true })).toEqual([ids[0], ids[1]]);
    expect((await admin.deadLetterStats({})).entries).toBe(1);
    expect((await admin.replay({ ids: [ids[0]!] }, { by: "ann" })).skipped).toEqual({ skip_not_found: 1 });
    expect((await admin.replay({ query: { signature: "s0" } }, { by: "ann" })).selected).toBe(0);
    await expect(admin.restoreDeadLetters({ ids: [ids[0]!, ids[2]!] })).rejects.toMatchObject({ code: "not_found" });
    expect(await admin.restoreDeadLetters({ ids: [ids[0]!] })).toBe(1);
    expect(await all(admin, { order: "oldest" })).toEqual([ids[0], ids[2]]);
    expect((await admin.deadLetter(ids[0]!))?.deletedAt).toBeUndefined();
    expect(await admin.deleteDeadLetters({ ids: [ids[1]!] })).toBe(1);
    expect(await admin.deadLetter(ids[1]!)).toBeUndefined();
    expect(await admin.restoreDeadLetters({ query: {} })).toBe(0);
  });

  it("changes nothing when one of the ids is unknown, waiting to be sent, or none is given", async () => {
    const a = await control("a");
    const { entry } = await deadLetter(a);
    const waiting = await a.store.put(newEntry("waiting"));
    const admin = adminOf(a);
    await expect(admin.deleteDeadLetters({ ids: [entry.id, "nobody-1"] })).rejects.toMatchObject({ code: "not_found" });
    await expect(admin.deleteDeadLetters({ ids: [entry.id, waiting.entry.id] })).rejects.toMatchObject({
      code: "not_found",
    });
    await expect(admin.deleteDeadLetters({ ids: [] })).rejects.toMatchObject({ code: "bad_request" });
    await expect(admin.deleteDeadLetters({ query: { cursor: "x" } })).rejects.toMatchObject({ code: "bad_request" });
    expect(a.store.stats).toMatchObject({ failed: { entries: 1 }, pending: { entries: 1 } });
  });
});

describe("export and import", () => {
  it("give the same entries in an empty store", async () => {
    const bodies = fc.array(fc.tuple(fc.string(), fc.string({ unit: anyCharacter }), fc.nat(5)), { maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(bodies, async (made) => {
        const from = await control("a");
        for (const [body, message, replays] of made) {
          const error = { kind: "permanent" as const, class: "X", message, code: "X" };
          await deadLetter(from, { body, replays, error });
        }
        const lines = await linesOf(adminOf(from).exportDeadLetters({}, { reveal: true }));
        const to = await control("a");
        expect(await adminOf(to).importDeadLetters(each(lines))).toEqual({ imported: made.length, problems: [] });
        expect(await linesOf(adminOf(to).exportDeadLetters({}, { reveal: true }))).toEqual(lines);
      }),
      runs(20),
    );
  });

  it("report damaged lines with their number, and take in the others once", async () => {
    const [a, b] = [await control("a"), await control("b")];
    for (let i = 0; i < 2; i++) await deadLetter(a, { body: `${i}` });
    await deadLetter(b);
    const good = await linesOf(adminOf(a).exportDeadLetters({}, { reveal: true }));
    const foreign = await linesOf(adminOf(b).exportDeadLetters({}, { reveal: true }));
    const cut = good[0]!.slice(0, -20);
    const changed = good[0]!.replace('"attempts":6', '"attempts":7');
    const newer = good[0]!.replace('"version":1', '"version":2');
    const into = await control("a");
    const lines = [good[0]!, "", cut, changed, newer, "{}", "null", ...foreign, good[1]!, good[0]!];
    const report = await adminOf(into).importDeadLetters(each(lines));
    expect(report.imported).toBe(2);
    expect(report.problems.map(({ line, message }) => `${line} ${message}`)).toEqual([
      expect.stringMatching(/^3 .*cut or changed/),
      expect.stringMatching(/^4 the checksum/),
      expect.stringMatching(/^5 version 2 .* newer/),
      expect.stringMatching(/^6 .*not an exported dead letter/),
      expect.stringMatching(/^7 .*cut or changed/),
      expect.stringMatching(/^8 there is no queue for an exporter "b"/),
      expect.stringMatching(/^10 entry .* exists already/),
    ]);
    expect((await adminOf(into).importDeadLetters(each(good))).imported).toBe(0);
    expect(into.store.stats.failed.entries).toBe(2);
  });

  it("report a file of another kind without one problem per line", async () => {
    const into = await control("a");
    const { imported, problems } = await adminOf(into).importDeadLetters(each(Array(5000).fill("hello")));
    expect(imported).toBe(0);
    expect(problems).toHaveLength(101);
    expect(problems.at(-1)?.message).toContain("4900 more");
  });

  it("check the query before the first line", async () => {
    const admin = adminOf(await control("a"));
    expect(() => admin.exportDeadLetters({ exporter: "zzz" })).toThrow("no exporter");
  });
});

describe("an exporter", () => {
  it("can be paused, held open and slowed down; an unknown one cannot", async () => {
    const a = await control("a");
    const admin = adminOf(a);
    admin.pause("a");
    admin.forceBreaker("a", "open");
    admin.setReplayRate("a", 3);
    expect(admin.exporters()).toMatchObject([{ id: "a", paused: true, state: "DOWN", replayRate: 3 }]);
    expect(() => admin.pause("b")).toThrow('there is no exporter "b"; there are: a');
    for (const rate of [0, -1, Number.NaN, Number.POSITIVE_INFINITY])
      expect(() => admin.setReplayRate("a", rate)).toThrow("rate");
  });

  it("whose store is closed answers that it is unavailable", async () => {
    const a = await control("a");
    await a.store.close();
    await expect(adminOf(a).listDeadLetters({})).rejects.toMatchObject({ code: "unavailable" });
  });
});
