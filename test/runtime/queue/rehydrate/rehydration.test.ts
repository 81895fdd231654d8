import { symlinkSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { reliability } from "../../../../src/extensions/reliability/component.js";
import type { Rehydration, RehydrationRequest } from "../../../../src/runtime/contract/rehydration/rehydration.js";
import type { Agent } from "../../../../src/runtime/host/agent.js";
import type { Batch } from "../../../../src/runtime/otlp/batch.js";
import { decodeTree } from "../../../../src/runtime/otlp/json/tree.js";
import { useEnvironment } from "../../../../src/runtime/system/environment.js";
import { agentOf } from "../../../support/agent.js";
import { type CollectingExporter, collectingExporter } from "../../../support/collecting-exporter.js";
import { runs } from "../../../support/runs.js";
import { S3_SERVERS, s3Environment } from "../../../support/servers/s3/s3.js";
import { S3Emulator } from "../../../support/servers/s3/s3-emulator.js";
import { archiveKey, logObject, writeObject } from "../../../support/telemetry/archived-objects.js";
import { bodies, logs } from "../../../support/telemetry/batches.js";
import { availableHere } from "../../../support/telemetry/with-zstd.js";
import { temporaryFolder } from "../../../support/temporary-folder.js";

const NOON = Date.parse("2026-03-10T12:00:00Z");
const MINUTE = 60_000;
const OPERATOR = { actor: "alice" };

interface Scene {
  readonly folder: string;
  readonly collected: CollectingExporter;
  readonly agent: Agent;
  readonly request: RehydrationRequest;
  /** Starts a rehydration and waits for its end. */
  run(change?: Partial<RehydrationRequest>): Promise<Rehydration>;
  start(change?: Partial<RehydrationRequest>): Promise<Rehydration>;
  ended(id: string): Promise<Rehydration>;
  add(name: string, texts: readonly string[], at?: number, ...how: Form): Promise<string>;
  restart(): Promise<void>;
}

type Form = Parameters<typeof logObject> extends [string, readonly string[], ...infer Rest] ? Rest : never;

async function scene({ queue = "{queue_size: 0}" } = {}): Promise<Scene> {
  const folder = temporaryFolder();
  const directory = temporaryFolder();
  const collected = collectingExporter();
  const yaml = `
receivers: {nop: {}}
exporters: {collect: {sending_queue: ${queue}, retry_on_failure: {initial_interval: 10ms, max_interval: 20ms}, circuit_breaker: {enabled: false}}}
extensions: {reliability: {directory: ${JSON.stringify(directory)}, durability: process}}
service:
  extensions: [reliability]
  telemetry: {metrics: {level: none}}
  pipelines: {logs: {receivers: [nop], exporters: [collect]}}
`;
  let agent: Agent;
  const begin = async () => {
    agent = agentOf(yaml, { components: [reliability, collected.factory] });
    await agent.start();
  };
  await begin();
  onTestFinished(() => agent.stop(1000));
  const since = new Date(NOON).toISOString();
  const request = {
    from: `file:${folder}`,
    to: "collect",
    since,
    until: new Date(NOON + 60 * MINUTE).toISOString(),
    timezone: "UTC",
  };
  const jobs = () => agent.admin!.actingAs(OPERATOR).rehydrations!;
  const start = (change: Partial<RehydrationRequest> = {}) => jobs().start({ ...request, ...change }, { by: "alice" });
  const ended = async (id: string) => {
    await expect.poll(async () => (await jobs().get(id))?.state).not.toBe("running");
    return (await jobs().get(id))!;
  };
  return {
    ...{ folder, collected, request, start, ended },
    get agent() {
      return agent;
    },
    run: async (change) => ended((await start(change)).id),
    async add(name, texts, at = NOON, ...how) {
      const object = await logObject(name, texts, ...how);
      const key = archiveKey(at, object.name);
      writeObject(folder, key, object.bytes);
      return key;
    },
    async restart() {
      await agent.stop(1000);
      await begin();
    },
  };
}

const texts = (batches: readonly Batch[]) => batches.flatMap(bodies).sort();
const sent = async ({ collected }: Scene, count: number) => {
  await expect.poll(() => collected.count).toBe(count);
  return texts(collected.batches);
};

describe("a rehydration", () => {
  it("sends the records of the partitions in its time range, marked with where they come from", async () => {
    const here = await scene();
    await here.add("a", ["before"], NOON - MINUTE);
    const key = await here.add("a", ["first"], NOON);
    await here.add("b", ["last"], NOON + 59 * MINUTE, "otlp_json", "gzip");
    await here.add("c", ["after"], NOON + 60 * MINUTE);
    const job = await here.run();
    expect(job).toMatchObject({ state: "done", objects: 2, read: 2, matched: 2, sent: 2, faults: {}, problems: [] });
    expect(await sent(here, 2)).toEqual(["first", "last"]);
    const first = here.collected.batches.find((batch) => bodies(batch).includes("first"))!;
    const [{ resource }] = decodeTree(first)["resourceLogs"] as [{ resource: { attributes: unknown } }];
    expect(resource.attributes).toEqual([
      { key: "sluice.rehydrated", value: { boolValue: true } },
      { key: "sluice.rehydrated_from", value: { stringValue: `file:${here.folder}/${key}` } },
    ]);
  });

  it("sends only records for which its condition holds, and leaves signals alone for which it means nothing", async () => {
    const here = await scene();
    await here.add("a", ["keep 1", "drop", "keep 2"]);
    const job = await here.run({ where: 'IsMatch(log.body, "^keep")' });
    expect(job).toMatchObject({ state: "done", read: 3, matched: 2, sent: 2 });
    expect(await sent(here, 2)).toEqual(["keep 1", "keep 2"]);
    expect(await here.run({ where: 'span.name == "x"' })).toMatchObject({
      state: "done",
      read: 0,
      sent: 0,
      objects: 1,
    });
  });

  it("first estimates how much there is, without sending anything", async () => {
    const here = await scene();
    for (let i = 0; i < 20; i++) await here.add(`${i}`, ["x", "y"], NOON + i * MINUTE);
    const job = await here.run({ dryRun: true, where: 'log.body == "x"' });
    expect(job).toMatchObject({ state: "done", dryRun: true });
    expect(job.estimate).toMatchObject({ objects: 20, records: 40, matching: 20, sampled: 9 });
    expect(here.collected.count).toBe(0);
  });

  it("names objects that cannot be read, leaves them out and goes on", async () => {
    const here = await scene();
    const put = (name: string, bytes: Uint8Array | string) =>
      writeObject(here.folder, archiveKey(NOON, name), Buffer.from(bytes));
    put("logs_cut.binpb", logs("whole", "x").bytes.subarray(0, -1));
    put("logs_empty.binpb", "");
    put("logs_nothing.json", "{}");
    put("logs_noise.binpb.gz", "this is not gzip");
    put("readme.md", "not ours");
    put("traces_1.json", '{"resourceSpans":[]}');
    await here.add("good", ["good"]);
    const job = await here.run();
    expect(job).toMatchObject({ state: "done", objects: 7, sent: 1 });
    expect(job.faults).toEqual({ truncated: 1, empty: 2, damaged: 1, not_ours: 1, no_pipeline: 1 });
    expect(job.problems.map(({ object }) => object.slice(object.lastIndexOf("/") + 1)).sort()).toEqual([
      ...[
        "logs_cut.binpb",
        "logs_empty.binpb",
        "logs_noise.binpb.gz",
        "logs_nothing.json",
        "readme.md",
        "traces_1.json",
      ],
    ]);
    expect(await sent(here, 1)).toEqual(["good"]);
  });

  it("does not follow links out of its folder", async () => {
    const here = await scene();
    const outside = temporaryFolder();
    const { name, bytes } = await logObject("secret", ["secret"]);
    writeObject(outside, name, bytes);
    await here.add("a", ["mine"]);
    symlinkSync(join(outside, name), join(here.folder, archiveKey(NOON, "logs_link.binpb")));
    symlinkSync(outside, join(here.folder, archiveKey(NOON, "folder")));
    expect(await here.run()).toMatchObject({ state: "done", objects: 1, sent: 1 });
  });

  it("does not follow links that stand for its partitions", async () => {
    const here = await scene();
    const outside = temporaryFolder();
    const { name, bytes } = await logObject("secret", ["secret"]);
    writeObject(outside, archiveKey(NOON, name), bytes);
    symlinkSync(join(outside, "year=2026"), join(here.folder, "year=2026"));
    for (const until of ["2026-03-10T13:00:00Z", "2028-01-01T00:00:00Z"])
      expect(await here.run({ until })).toMatchObject({ state: "done", objects: 0, sent: 0 });
  });

  it("without partitions chooses objects by when they were written", async () => {
    const here = await scene();
    const { name, bytes } = await logObject("a", ["flat"]);
    writeObject(here.folder, name, bytes);
    expect(await here.run({ partition: "none" })).toMatchObject({ state: "done", objects: 0 });
    expect(await here.run({ partition: "none", since: "1h", until: "0s" })).toMatchObject({ objects: 1, sent: 1 });
  });

  it("waits while the queue of the exporter is half full", async () => {
    const here = await scene({ queue: "{queue_size: 4}" });
    here.collected.shut();
    for (let i = 0; i < 10; i++) await here.add(`${i}`, [`${i}`], NOON + i * MINUTE);
    const { id } = await here.start();
    await expect.poll(() => here.agent.admin!.exporters()[0]!.queue.entries).toBeGreaterThanOrEqual(2);
    expect(here.agent.admin!.exporters()[0]!.queue.entries).toBeLessThanOrEqual(4);
    expect((await here.agent.admin!.rehydrations!.get(id))!.state).toBe("running");
    here.collected.open();
    expect(await here.ended(id)).toMatchObject({ state: "done", sent: 10 });
    expect(await sent(here, 10)).toHaveLength(10);
  });

  it("reports records that an exporter without a queue refuses", async () => {
    const here = await scene({ queue: "{enabled: false}" });
    const { Refusal } = await import("../../../../src/plugin.js");
    here.collected.refuse(new Refusal("permanent", "not this one"));
    await here.add("a", ["x"]);
    const job = await here.run();
    expect(job).toMatchObject({ state: "done", sent: 0, matched: 1, faults: { refused: 1 } });
    expect(job.problems[0]!.message).toContain("not this one");
  });

  it("goes on where it was cancelled, or where the agent stopped, with the same request", async () => {
    const here = await scene();
    for (let i = 0; i < 30; i++) await here.add(`${i}`, [`${i}`], NOON + i * MINUTE);
    const { id } = await here.start({ rate: 20 });
    await expect.poll(async () => (await here.agent.admin!.rehydrations!.get(id))!.sent).toBeGreaterThan(2);
    await here.agent.admin!.rehydrations!.cancel(id);
    const cancelled = (await here.agent.admin!.rehydrations!.get(id))!;
    expect(cancelled.state).toBe("cancelled");
    expect(cancelled.sent).toBeLessThan(30);
    expect((await here.run({ dryRun: true })).resumes).toMatchObject({ id, sent: cancelled.sent });
    expect(await here.start({ rate: 20 })).toMatchObject({ id, state: "running", resumed: 1 });
    await expect
      .poll(async () => (await here.agent.admin!.rehydrations!.get(id))!.sent)
      .toBeGreaterThan(cancelled.sent);
    await here.restart();
    expect((await here.agent.admin!.rehydrations!.get(id))!.state).toBe("interrupted");
    expect(await here.run()).toMatchObject({ id, state: "done", resumed: 2, sent: 30, objects: 30 });
    expect(await sent(here, 30)).toHaveLength(30);
    expect((await here.run({ dryRun: true })).earlier).toMatchObject({ id, sent: 30 });
  });

  it("starts once if the same request comes several times at once", async () => {
    const here = await scene();
    here.collected.shut();
    for (let i = 0; i < 5; i++) await here.add(`${i}`, [`${i}`], NOON + i * MINUTE);
    const started = await Promise.allSettled([here.start({ rate: 5 }), here.start({ rate: 5 }), here.start()]);
    expect(started.map((each) => each.status)).toEqual(["fulfilled", "rejected", "rejected"]);
    here.collected.open();
    await here.ended((started[0] as PromiseFulfilledResult<Rehydration>).value.id);
    expect(await sent(here, 5)).toEqual(["0", "1", "2", "3", "4"]);
    expect(await here.agent.admin!.rehydrations!.list()).toHaveLength(1);
  });

  it("does not send again what an exporter without a queue took while it was cancelled", async () => {
    const here = await scene({ queue: "{enabled: false}" });
    for (let i = 0; i < 6; i++) await here.add(`${i}`, [`${i}`], NOON + i * MINUTE);
    here.collected.shut();
    const { id } = await here.start();
    await expect.poll(() => here.collected.waiting).toBeGreaterThan(1);
    const cancelled = here.agent.admin!.rehydrations!.cancel(id);
    here.collected.open();
    await cancelled;
    const { sent: before } = (await here.agent.admin!.rehydrations!.get(id))!;
    expect(before).toBe(here.collected.count);
    expect(before).toBeGreaterThan(1);
    expect(await here.run()).toMatchObject({ id, state: "done", sent: 6 });
    expect(await sent(here, 6)).toEqual(["0", "1", "2", "3", "4", "5"]);
  });

  it("that was complete begins anew with the same request", async () => {
    const here = await scene();
    await here.add("a", ["x"]);
    const first = await here.run();
    const second = await here.run();
    expect(second.id).not.toBe(first.id);
    expect(await sent(here, 2)).toEqual(["x", "x"]);
  });

  it("is in the audit, with its operator and its outcome", async () => {
    const here = await scene();
    await here.add("a", ["x"]);
    await here.run();
    const outcomes = async () =>
      (await here.agent.admin!.audit({ action: "rehydrate" })).records.map(({ actor, target, count, outcome }) => ({
        ...{ actor, target, count, outcome },
      }));
    await expect.poll(async () => (await outcomes()).length).toBe(2);
    expect(await outcomes()).toEqual([
      { actor: "alice", target: "collect", count: 1, outcome: "done" },
      { actor: "alice", target: "collect", count: undefined, outcome: "started" },
    ]);
  });

  it.each([
    [{ timezone: "Nowhere/City" }, "timezone must be a zone"],
    [{ from: "ftp://x" }, "from must be s3://BUCKET/PREFIX"],
    [{ since: "yesterday" }, "since must be a time"],
    [{ since: "2026-03-11T00:00:00Z" }, "since must be before until"],
    [{ where: "nonsense(" }, "where: "],
    [{ partition: "%H" }, "cannot be used"],
    [{ to: "nobody" }, "there is no exporter"],
    [{ rate: 0 }, "rate must be"],
  ])("is refused as %j", async (change, message) => {
    const here = await scene();
    await expect(here.start(change)).rejects.toThrow(message);
  });

  it("fails if its folder does not exist, and says so", async () => {
    const here = await scene();
    const job = await here.run({ from: "file:/nowhere/at/all" });
    expect(job).toMatchObject({
      state: "failed",
      error: expect.stringContaining("/nowhere/at/all cannot be read: ENOENT"),
    });
  });

  it("gives each record exactly once, whatever the objects are and wherever it is interrupted", async () => {
    const object = fc.record({
      minute: fc.integer({ min: 0, max: 59 }),
      records: fc.integer({ min: 1, max: 5 }),
      format: fc.constantFrom("otlp_proto" as const, "otlp_json" as const, "body" as const),
      compression: fc.constantFrom(...availableHere(["none", "gzip", "zstd"])),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(object, { maxLength: 12 }),
        fc.array(fc.integer({ min: 0, max: 12 }), { maxLength: 3 }),
        async (objects, cancels) => {
          const here = await scene();
          const expected: string[] = [];
          for (const [i, { minute, records, format, compression }] of objects.entries()) {
            const own = Array.from({ length: records }, (_, n) => `${i}-${n}`);
            expected.push(...own);
            await here.add(`${i}`, own, NOON + minute * MINUTE, format, compression);
          }
          for (const after of cancels) {
            const { id, sent: before } = await here.start({ rate: 500 });
            const jobs = here.agent.admin!.rehydrations!;
            await expect.poll(async () => isAt((await jobs.get(id))!, before + after), { interval: 1 }).toBe(true);
            await jobs.cancel(id).catch(() => {});
            if ((await jobs.get(id))!.state === "done") break;
          }
          const last = (await here.agent.admin!.rehydrations!.list()).find(({ dryRun }) => !dryRun);
          if (last?.state !== "done") expect(await here.run()).toMatchObject({ state: "done", sent: expected.length });
          expect(await sent(here, expected.length)).toEqual(expected.sort());
          await here.agent.stop(1000);
        },
      ),
      runs(15),
    );
  });
});

function isAt({ state, sent: now }: Rehydration, wanted: number): boolean {
  return state !== "running" || now >= wanted;
}

describe("a rehydration from a bucket", () => {
  it("downloads only objects whose records it sends", async () => {
    const emulator = await new S3Emulator("archive").start();
    onTestFinished(() => emulator.close());
    useEnvironment(s3Environment);
    onTestFinished(() => useEnvironment(process.env));
    const here = await scene();
    const { name, bytes } = await logObject("1", ["mine"]);
    for (const each of [name, "traces_1.binpb", "readme.md"])
      emulator.buckets.get("archive")!.set(archiveKey(NOON, each), { body: bytes, headers: {} });
    const place = { from: "s3://archive", endpoint: emulator.endpoint, pathStyle: true };
    expect(await here.run(place)).toMatchObject({ state: "done", faults: { no_pipeline: 1, not_ours: 1 }, sent: 1 });
    expect(await here.run({ ...place, where: 'span.name == "x"' })).toMatchObject({ state: "done", sent: 0 });
    const downloads = emulator.calls.filter(({ key }) => key !== "").map(({ key }) => key);
    expect(downloads).toEqual([archiveKey(NOON, name)]);
  });
});

describe.each(S3_SERVERS)("a rehydration from %s", (_name, startServer) => {
  it("reads the objects of a bucket under a prefix, in pages, and lists only partitions of its time range", async () => {
    const server = await startServer();
    onTestFinished(() => server.close());
    useEnvironment(s3Environment);
    onTestFinished(() => useEnvironment(process.env));
    const here = await scene();
    const { S3Client } = await import("../../../../src/runtime/net/aws/s3/s3-client.js");
    const { systemClock } = await import("../../../../src/runtime/contract/clock.js");
    const { silentLogger } = await import("../../../../src/runtime/contract/observability.js");
    const address = { region: "us-east-1", bucket: "archive", endpoint: new URL(server.endpoint), isPathStyle: true };
    const client = new S3Client(address, "", { clock: systemClock, random: Math.random, logger: silentLogger });
    onTestFinished(() => client.close());
    const { signal } = new AbortController();
    for (let i = 0; i < 12; i++) {
      const { name, bytes } = await logObject(`${i}`, [`${i}`], "otlp_proto", i % 2 === 0 ? "gzip" : "none");
      await client.putObject(archiveKey(NOON + i * MINUTE, name, "prod/"), bytes, signal);
      await client.putObject(archiveKey(NOON - 60 * MINUTE, name, "prod/"), bytes, signal);
    }
    const place = { from: "s3://archive/prod", endpoint: server.endpoint, pathStyle: true };
    expect(await here.run({ ...place, dryRun: true })).toMatchObject({
      state: "done",
      estimate: { objects: 12, records: 12 },
    });
    if (server.emulator !== undefined) {
      let calls = 0;
      server.emulator.fault = ({ method }) => (method === "GET" && calls++ % 3 === 1 ? "cut_answer" : undefined);
    }
    const job = await here.run(place);
    expect(job).toMatchObject({ state: "done", objects: 12, sent: 12, faults: {} });
    expect(await sent(here, 12)).toEqual(Array.from({ length: 12 }, (_, i) => `${i}`).sort());
    const listed = server.emulator?.calls.flatMap(({ query }) => query.get("prefix") ?? []) ?? [];
    for (const prefix of listed) expect(prefix).toMatch(/^prod\/year=2026\/month=03\/day=10\/hour=12\//);
  });
});
