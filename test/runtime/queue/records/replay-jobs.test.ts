import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import { type Admin, AdminError } from "../../../../src/runtime/contract/operations/admin.js";
import { ReplayJobs } from "../../../../src/runtime/queue/records/replay-jobs.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { type OtlpSink, startSink } from "../../../support/otlp-sink.js";
import { cleanUp, startWrapped } from "../agent.js";
import { memoryRecords } from "../operate/controls.js";

describe("a replay in the background", () => {
  it("is remembered when it failed after its request was answered", async () => {
    const clock = new FakeClock();
    const { tracker } = memoryRecords(clock);
    const jobs = new ReplayJobs(tracker, clock);
    let fail = (_: Error) => {};
    const replay: Admin["replay"] = (_selection, options) => {
      options.onProgress?.(1, 2);
      return new Promise<never>((_resolve, reject) => (fail = reject));
    };
    const starting = jobs.start({ replay }, { query: {} }, { by: "ann" });
    clock.advance(1000);
    const { id, state } = await starting;
    expect(state).toBe("running");
    fail(new AdminError("unavailable", "the queue is closed"));
    await new Promise(setImmediate);
    expect(await tracker.get(id)).toMatchObject({ state: "failed", error: "the queue is closed", isSettled: true });
  });

  it("is not among the replays when it was a dry run, and found by its id", async () => {
    const clock = new FakeClock();
    const { tracker } = memoryRecords(clock);
    const jobs = new ReplayJobs(tracker, clock);
    const replay = () => Promise.resolve({ replayed: 0, skipped: {} } as never);
    const dry = await jobs.start({ replay }, { query: {} }, { by: "ann", dryRun: true });
    const real = await jobs.start({ replay }, { query: {} }, { by: "ann" });
    expect((await tracker.list(10)).map(({ id }) => id)).toEqual([real.id]);
    expect(await tracker.get(dry.id)).toMatchObject({ dryRun: true });
  });

  it("is not started if the request is invalid", async () => {
    const clock = new FakeClock();
    const { tracker } = memoryRecords(clock);
    const jobs = new ReplayJobs(tracker, clock);
    const replay = () => Promise.reject(new AdminError("bad_request", "say who replays"));
    await expect(jobs.start({ replay }, { query: {} }, { by: "" })).rejects.toThrow("say who replays");
    expect(await tracker.list(10)).toEqual([]);
  });
});

describe("what became of replayed entries", () => {
  afterEach(cleanUp);

  const EXPORTER = (sink: OtlpSink) => `  otlp_http: {endpoint: "${sink.url}", retry_on_failure: {enabled: false}}`;

  /** An agent with so many dead letters, that their backend has refused. */
  async function withDeadLetters(...bodies: string[][]) {
    const sink = await startSink();
    onTestFinished(() => sink.close());
    sink.decide(() => 400);
    const fed = await startWrapped(EXPORTER(sink));
    for (const each of bodies) await fed.send(...each);
    const { admin } = fed.agent;
    const count = bodies.flat().length;
    await expect.poll(() => admin!.exporters()[0]!.deadLetters.items).toBe(count);
    const ids = (await admin!.listDeadLetters({ order: "oldest" })).entries.map(({ id }) => id);
    return { sink, fed, admin: admin!, ids };
  }

  it("is reported for each: delivered, or failed again and why", async () => {
    const { sink, admin, ids } = await withDeadLetters(["a"], ["b"], ["c"]);
    let answered = 0;
    sink.decide(() => (answered++ === 1 ? 400 : 200));
    const { id } = await admin.startReplay({ query: {} }, { by: "ann", reason: "INC-17" });
    await expect.poll(async () => (await admin.replayJob(id))?.isSettled).toBe(true);
    const job = (await admin.replayJob(id))!;
    expect(job).toMatchObject({ by: "ann", reason: "INC-17", queued: 3, delivered: 2, failedAgain: 1, pending: 0 });
    expect(job.outcomes).toHaveLength(3);
    expect(job.outcomes![0]).toMatchObject({ outcome: "failed_again", error: { class: "HTTP 400" } });
    expect(job.outcomes!.map((each) => each.id).sort()).toEqual([...ids].sort());
  });

  it("is failed when one of the parts it was taken apart into is", async () => {
    const sink = await startSink();
    onTestFinished(() => sink.close());
    sink.decide(() => 503);
    const { agent, send } = await startWrapped(EXPORTER(sink));
    await send("a", "b");
    const admin = agent.admin!;
    await expect.poll(() => admin.exporters()[0]!.deadLetters).toMatchObject({ entries: 1, items: 2 });
    const answers = [400, 200, 400];
    sink.decide(() => answers.shift());
    const { id } = await admin.startReplay({ query: {} }, { by: "ann", approved: true });
    await expect.poll(async () => (await admin.replayJob(id))?.isSettled).toBe(true);
    expect(sink.count).toBe(1);
    expect(await admin.replayJob(id)).toMatchObject({ queued: 1, delivered: 0, failedAgain: 1 });
  });

  it("stays findable after delivery and a restart, with the history of the entry", async () => {
    const { sink, fed, admin, ids } = await withDeadLetters(["a"]);
    sink.decide(() => 200);
    const { id } = await admin.startReplay({ ids }, { by: "ann" });
    await expect.poll(async () => (await admin.replayJob(id))?.isSettled).toBe(true);
    await fed.agent.stop();
    const { agent } = await startWrapped(EXPORTER(sink), { directory: fed.directory });
    const again = agent.admin!;
    expect(await again.replayJob(id)).toMatchObject({ state: "done", delivered: 1, isSettled: true, by: "ann" });
    expect(await again.replays()).toMatchObject([{ id, delivered: 1 }]);
    expect(await again.deadLetter(ids[0]!)).toMatchObject({
      state: "delivered",
      deliveredAt: expect.any(Number),
      calls: 1,
      attempts: 1,
      cycles: [{ replayedBy: "ann", failure: { reason: "permanent" } }],
    });
    expect((await again.listDeadLetters({})).entries).toEqual([]);
    await agent.stop(0);
  });

  it("can be paused, resumed and cancelled while entries are put back", async () => {
    const { sink, admin } = await withDeadLetters(["a"], ["b"], ["c"]);
    sink.decide(() => 200);
    const starting = admin.startReplay({ query: {} }, { by: "ann", rate: 1 });
    const { id } = await starting;
    admin.controlReplay(id, "pause");
    expect(await admin.replayJob(id)).toMatchObject({ state: "paused", isSettled: false });
    admin.controlReplay(id, "resume");
    expect(await admin.replayJob(id)).toMatchObject({ state: "running" });
    admin.controlReplay(id, "cancel");
    await expect.poll(async () => (await admin.replayJob(id))?.state).toBe("cancelled");
    expect(() => admin.controlReplay(id, "pause")).toThrow("is not running");
    expect(admin.exporters()[0]!.deadLetters.entries).toBeGreaterThan(0);
  });
});
