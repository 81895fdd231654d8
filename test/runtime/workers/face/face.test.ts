import { afterEach, describe, expect, it } from "vitest";
import type { Admin } from "../../../../src/runtime/contract/operations/admin.js";
import type { AuditRecord } from "../../../../src/runtime/contract/operations/audit.js";
import { bodies, logs } from "../../../support/telemetry/batches.js";
import { cleanUp, type Group, startGroup } from "./group.js";

afterEach(cleanUp);

const ann = { actor: "ann", reason: "test" };
const EXPORTER = "collect";

async function statusOf({ face }: Group, id = EXPORTER) {
  await face.refresh();
  return face.admin.exporters().find((each) => each.id === id)!;
}

async function audit(admin: Admin, limit = 3): Promise<AuditRecord[]> {
  const records: AuditRecord[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await admin.audit({ limit, cursor });
    records.push(...page.records);
    cursor = page.cursor;
    if (cursor === undefined) return records;
  }
}

describe("exporters of several workers", () => {
  it("are paused in every worker when the pause is answered, and the action is recorded once", async () => {
    const group = await startGroup(2);
    const acting = group.face.admin.actingAs(ann);
    await acting.pause(EXPORTER);
    for (const { agent } of group.workers)
      expect(agent.admin!.exporters().find(({ id }) => id === EXPORTER)).toMatchObject({ paused: true });
    expect(await statusOf(group)).toMatchObject({ paused: true });
    for (const { hand } of group.workers) void hand(logs("waits"));
    await expect.poll(async () => (await statusOf(group)).queue).toMatchObject({ entries: 2, items: 2 });
    await acting.resume(EXPORTER);
    await expect.poll(async () => (await statusOf(group)).queue.entries).toBe(0);
    for (const { exporter } of group.workers) expect(exporter.count).toBe(1);
    await expect
      .poll(async () => (await audit(acting, 1)).map(({ action, actor, target }) => [action, actor, target]))
      .toEqual([
        ["resume", "ann", EXPORTER],
        ["pause", "ann", EXPORTER],
      ]);
    await expect(acting.pause("unknown")).rejects.toMatchObject({ code: "not_found" });
  });

  it("share a rate of replays, and one that is open in a worker is shown as open and degraded", async () => {
    const group = await startGroup(2);
    await group.face.admin.setReplayRate(EXPORTER, 10);
    expect((await statusOf(group)).replayRate).toBe(10);
    expect(group.workers[1]!.agent.admin!.exporters()[0]!.replayRate).toBe(5);
    await group.workers[1]!.agent.admin!.forceBreaker(EXPORTER, "open");
    expect(await statusOf(group)).toMatchObject({ breaker: { state: "open", forced: false }, state: "DEGRADED" });
    await group.face.admin.forceBreaker(EXPORTER, "open");
    expect(await statusOf(group)).toMatchObject({ breaker: { state: "open", forced: true }, state: "DOWN" });
  });

  it("have the failure rate of all calls, however many each worker has made", async () => {
    const group = await startGroup(2);
    const { hand, exporter } = group.workers[0]!;
    for (const calls of [1, 2, 3]) {
      await hand(logs("taken"));
      await expect.poll(() => exporter.count).toBe(calls);
    }
    await group.deadLetter(2, "refused");
    expect(await statusOf(group)).toMatchObject({ failureRate: 0.25, recentCalls: 4 });
  });

  it("are changed in no worker while one is gone, and a worker that comes back is told what was set", async () => {
    const group = await startGroup(2);
    const [first, second] = group.workers;
    await group.face.admin.pause(EXPORTER);
    await second!.cut();
    await expect(Promise.resolve(group.face.admin.resume(EXPORTER))).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("worker 2"),
    });
    expect(first!.agent.admin!.exporters()[0]).toMatchObject({ paused: true });
    await second!.restart();
    expect(await statusOf(group)).toMatchObject({ paused: false });
    await group.face.restore(group.workers[1]!.calls()!);
    expect(await statusOf(group)).toMatchObject({ paused: true });
  });

  it("are changed and asked for where they are, if only one worker has them", async () => {
    const group = await startGroup(2);
    const { admin } = group.face;
    await admin.pause("collect/one");
    expect(await statusOf(group, "collect/one")).toMatchObject({ paused: true });
    await admin.setReplayRate("collect/one", 10);
    expect((await statusOf(group, "collect/one")).replayRate).toBe(10);
    expect(await admin.listDeadLetters({ exporter: "collect/one" })).toEqual({ entries: [] });
    expect(await admin.deadLetterStats({ exporter: "collect/one" })).toMatchObject({ entries: 0 });
    const query = { exporter: "collect/one" };
    expect(await admin.replay({ query }, { by: "ann" })).toMatchObject({ selected: 0 });
    expect(await admin.deleteDeadLetters({ query })).toBe(0);
    await expect(admin.listDeadLetters({ exporter: "unknown" })).rejects.toMatchObject({ code: "not_found" });
  });

  it("do not look well when no worker answers", async () => {
    const group = await startGroup(2);
    expect((await statusOf(group)).state).toBe("UP");
    for (const worker of group.workers) await worker.cut();
    expect((await statusOf(group)).state).toBe("DOWN");
    await expect(group.face.admin.listDeadLetters({})).rejects.toMatchObject({ code: "unavailable" });
  });
});

describe("a worker that is gone", () => {
  it("is named by answers that lack its share, and its share follows when it is back", async () => {
    const group = await startGroup(2);
    await group.deadLetter(1, "one");
    await group.deadLetter(2, "two");
    const { admin } = group.face;
    await group.workers[1]!.cut();
    expect(await admin.listDeadLetters({})).toMatchObject({ unavailableWorkers: [2] });
    expect((await admin.listDeadLetters({ limit: 1 })).entries).toHaveLength(1);
    expect(await admin.deadLetterStats({})).toMatchObject({ entries: 1, unavailableWorkers: [2] });
    expect(await admin.deadLetterGroups({})).toMatchObject({ total: 1, unavailableWorkers: [2] });
    const [there] = await group.workers[1]!.agent.admin!.listDeadLetters({}).then(({ entries }) => entries);
    await expect(admin.deadLetter(there!.id)).rejects.toMatchObject({ code: "unavailable" });
    const lines = admin.exportDeadLetters({})[Symbol.asyncIterator]();
    await expect(lines.next()).rejects.toMatchObject({ code: "unavailable" });
    await expect(admin.deleteDeadLetters({ query: {} })).rejects.toMatchObject({ code: "unavailable" });
    expect(await group.union()).toHaveLength(2);
    group.workers[1]!.connect();
    expect((await admin.listDeadLetters({})).entries).toHaveLength(2);
  });
});

describe("a replay over several workers", () => {
  it("is one replay with the sum of its parts, recorded once", async () => {
    const group = await startGroup(3);
    for (const worker of [1, 2, 2, 3]) await group.deadLetter(worker, `text ${worker}`);
    const acting = group.face.admin.actingAs(ann);
    const job = await acting.startReplay({ query: {} }, { by: "ann", rate: 20 });
    expect(job).toMatchObject({ by: "ann", rate: 20, reason: "test", report: { selected: 4, replayed: 4 } });
    await expect
      .poll(() => acting.replayJob(job.id))
      .toMatchObject({ id: job.id, state: "done", queued: 4, delivered: 4, isSettled: true });
    expect((await acting.replayJob(job.id))!.outcomes).toHaveLength(4);
    expect((await acting.replayJob(job.id))!.causes).toMatchObject([{ entries: 4 }]);
    expect((await acting.replays()).map(({ id, delivered }) => [id, delivered])).toEqual([[job.id, 4]]);
    const sent = group.workers.flatMap(({ exporter }) => exporter.batches.flatMap(bodies));
    expect(sent.sort()).toEqual(["text 1", "text 2", "text 2", "text 3"]);
    expect(await audit(acting)).toMatchObject([{ action: "replay", actor: "ann", count: 4, outcome: "done" }]);
    for (const worker of group.workers) await worker.restart();
    expect(await acting.replayJob(job.id)).toMatchObject({ id: job.id, state: "done", delivered: 4 });
  });

  it("takes each id to its owner, and reports unknown ones once", async () => {
    const group = await startGroup(3);
    for (const worker of [2, 3, 3]) await group.deadLetter(worker, "again");
    const [one, other] = (await group.union()).map(({ id }) => id);
    const report = await group.face.admin.replay({ ids: [one!, "unknown", other!] }, { by: "ann" });
    expect(report).toMatchObject({ selected: 3, replayed: 2, skipped: { skip_not_found: 1 } });
    expect(report.examples).toMatchObject([{ id: "unknown", reason: "skip_not_found" }]);
    await expect.poll(async () => (await group.union()).length).toBe(1);
  });

  it.each([
    ["by a query", () => ({ query: {} })],
    ["by their ids", (ids: readonly string[]) => ({ ids: [...ids] })],
  ])("brings dead letters, chosen %s, to the only worker that has the exporter they go to", async (_, selectionOf) => {
    const group = await startGroup(3);
    for (const worker of [1, 2, 2, 3]) await group.deadLetter(worker, `text ${worker}`);
    const selection = selectionOf((await group.union()).map(({ id }) => id));
    const acting = group.face.admin.actingAs(ann);
    const dry = await acting.startReplay(selection, { by: "ann", to: "collect/one", dryRun: true });
    expect(dry).toMatchObject({ report: { selected: 4, replayed: 4 } });
    expect(await group.union()).toHaveLength(4);
    const job = await acting.startReplay(selection, { by: "ann", to: "collect/one" });
    expect(job).toMatchObject({ report: { selected: 4, replayed: 4, skipped: {} } });
    await expect.poll(() => acting.replayJob(job.id)).toMatchObject({ state: "done", delivered: 4, isSettled: true });
    const [first, ...others] = group.workers.map(({ exporter }) => exporter.batches.flatMap(bodies).sort());
    expect(first).toEqual(["text 1", "text 2", "text 2", "text 3"]);
    expect(others).toEqual([[], []]);
    expect(await group.union()).toEqual([]);
    expect(await group.union({ deleted: true })).toEqual([]);
  });

  it("removes what an interrupted move has left over, and sends nothing twice", async () => {
    const group = await startGroup(2);
    await group.deadLetter(2, "once");
    const [first, second] = group.workers.map(({ agent }) => agent.admin!);
    await first!.importDeadLetters(second!.transfers!.lines({ query: {} })); // and then it was killed
    expect(await group.union()).toHaveLength(2);
    await group.face.admin.replay({ query: {} }, { by: "ann", to: "collect/one" });
    await expect.poll(() => group.workers[0]!.exporter.batches.flatMap(bodies)).toEqual(["once"]);
    expect(await group.union()).toEqual([]);
  });

  it("shows samples of a dry run, and changes nothing", async () => {
    const group = await startGroup(2);
    for (const worker of [1, 2]) await group.deadLetter(worker, "sampled");
    const acting = group.face.admin.actingAs(ann);
    const options = { by: "ann", dryRun: true, samples: 2, revealSamples: true };
    const job = await acting.startReplay({ query: {} }, options);
    expect(job.report!.samples).toHaveLength(2);
    expect(JSON.stringify(job.report!.samples)).toContain("sampled");
    expect(await group.union()).toHaveLength(2);
    expect(await audit(acting)).toMatchObject([{ action: "reveal", actor: "ann" }]);
  });

  it("is paused, watched, resumed and cancelled in all of them", async () => {
    const group = await startGroup(2);
    for (const worker of [1, 1, 1, 2, 2, 2]) await group.deadLetter(worker, "slow");
    const { admin } = group.face;
    const job = await admin.startReplay({ query: {} }, { by: "ann", rate: 0.5 });
    expect(job.state).toBe("running");
    let changes = 0;
    const stop = admin.watchReplay(job.id, () => void changes++);
    await admin.controlReplay(job.id, "pause");
    expect(await admin.replayJob(job.id)).toMatchObject({ state: "paused" });
    await expect.poll(() => changes).toBeGreaterThan(0);
    await admin.controlReplay(job.id, "resume");
    expect(await admin.replayJob(job.id)).toMatchObject({ state: "running" });
    await admin.controlReplay(job.id, "cancel");
    await expect.poll(() => admin.replayJob(job.id)).toMatchObject({ state: "cancelled" });
    stop();
    await expect(Promise.resolve(admin.controlReplay(job.id, "pause"))).rejects.toMatchObject({ code: "conflict" });
  });

  it("is refused with the workers' own words if it is invalid, and not recorded", async () => {
    const group = await startGroup(2);
    const acting = group.face.admin.actingAs(ann);
    await expect(acting.startReplay({ query: {} }, { by: "" })).rejects.toMatchObject({ code: "bad_request" });
    await expect(acting.startReplay({ ids: [] }, { by: "ann" })).rejects.toMatchObject({ code: "bad_request" });
    expect(await audit(acting)).toEqual([]);
  });
});

describe("the audit of several workers", () => {
  it("has each search and reveal once, before its data is shown, and merges what workers have of their own", async () => {
    const group = await startGroup(2);
    await group.deadLetter(2, "secret");
    const acting = group.face.admin.actingAs(ann);
    const [entry] = (await acting.listDeadLetters({ text: "secret" })).entries;
    expect(await acting.payload(entry!.id, { reveal: true })).toContain("secret");
    await group.workers[1]!.agent.admin!.actingAs({ actor: "bob" }).noteReveal("elsewhere", {});
    await acting.noteReload!({ added: 1 }, "done");
    const records = await audit(acting, 1);
    expect(records.map(({ action, actor }) => [action, actor])).toEqual([
      ["reload", "ann"],
      ["reveal", "bob"],
      ["reveal", "ann"],
      ["search", "ann"],
    ]);
    await expect(acting.listDeadLetters({ where: "no condition" })).rejects.toMatchObject({ code: "bad_request" });
    expect(await audit(acting)).toHaveLength(4);
    await group.workers[0]!.cut();
    await expect(acting.payload(entry!.id, { reveal: true })).rejects.toMatchObject({ code: "unavailable" });
  });
});

describe("the traffic of several workers", () => {
  it("is added up, and stays so when a worker begins anew", async () => {
    const group = await startGroup(2);
    for (const { hand } of group.workers) await hand(logs("a", "b"));
    await group.face.refresh();
    const total = () => [...group.face.inspection!.traffic().edges.values()].reduce((sum, count) => sum + count, 0);
    const expected = group.workers
      .map(({ agent }) => [...agent.inspection!.traffic().edges.values()].reduce((sum, count) => sum + count, 0))
      .reduce((sum, count) => sum + count, 0);
    expect(total()).toBe(expected);
    expect(expected).toBeGreaterThan(0);
    await group.workers[1]!.restart();
    await group.face.refresh();
    expect(total()).toBe(expected);
    await group.workers[1]!.hand(logs("c", "d"));
    await group.face.refresh();
    expect(total()).toBe(expected * 1.5);
  });

  it("is watched in all workers until the watch ends", async () => {
    const group = await startGroup(2);
    const { edges } = group.face.inspection!.graph;
    const seen: string[] = [];
    const end = group.face.inspection!.watch(edges, (batch, edge) => {
      seen.push(...bodies(batch).map((body) => `${edge.signal} ${body}`));
    });
    await expect
      .poll(async () => {
        await Promise.all(group.workers.map(({ hand }, index) => hand(logs(`from ${index + 1}`))));
        return new Set(seen);
      })
      .toEqual(new Set(["logs from 1", "logs from 2"]));
    end();
    await group.face.refresh();
    const before = seen.length;
    for (const { hand } of group.workers) await hand(logs("late"));
    await group.face.refresh();
    expect(seen).toHaveLength(before);
  });
});
