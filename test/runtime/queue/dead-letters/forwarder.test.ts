import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { type Batch, defineExporter, Refusal, readRecords, SIGNALS } from "../../../../src/plugin.js";
import { completeSettings } from "../../../../src/runtime/contract/schema/exporter-settings.js";
import type { QueueControl } from "../../../../src/runtime/queue/dead-letters/exporter-control.js";
import { DeadLetterForwarder } from "../../../../src/runtime/queue/dead-letters/forwarder.js";
import { MemoryStore } from "../../../../src/runtime/queue/store/memory-store.js";
import { startSink } from "../../../exporters/harness.js";
import { listeningLogger } from "../../../exporters/support.js";
import { resolve } from "../../../support/agent.js";
import { type CollectingExporter, collectingExporter } from "../../../support/collecting-exporter.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { cleanUp, type FedAgent, startFed } from "../../../support/fed-agent.js";
import { spanBatch, traceId } from "../../../support/sampled.js";
import { bodies, logs } from "../../../support/telemetry/batches.js";
import { countedMetrics } from "../counted-metrics.js";

let copies: CollectingExporter;
beforeEach(() => {
  copies = collectingExporter();
});
afterEach(cleanUp);

/** Refuses everything for good, until the test changes that. */
const noTable = new Refusal("permanent", "no such table", { status: "HTTP 400", category: "business" });
const refusing = { isWell: false, taken: [] as Batch[], refusal: noTable };
const bad = defineExporter({
  type: "bad",
  summary: "test",
  signals: SIGNALS,
  schema: z.strictObject({}),
  create: () => ({
    async send(batch) {
      if (!refusing.isWell) throw refusing.refusal;
      refusing.taken.push(batch);
      return undefined;
    },
  }),
});
beforeEach(() => {
  Object.assign(refusing, { isWell: false, taken: [], refusal: noTable });
});

const yaml =
  (more = "", collect = "") =>
  (directory: string) =>
    `
extensions: {reliability: {directory: "${directory}"}}
exporters:
  bad: {dead_letter: {forward_to: collect}}
  collect: {retry_on_failure: {initial_interval: 1ms, max_interval: 10ms}${collect}}
  ${more}
service:
  extensions: [reliability]
  pipelines: {logs: {receivers: [hand], exporters: [bad]}}
`;

const start = (directory?: string, text = yaml()) =>
  startFed(text, { components: [bad, copies.factory], ...(directory && { directory }) });

const deadLetters = async ({ agent }: FedAgent, exporter?: string) =>
  (await agent.admin!.listDeadLetters({ order: "oldest", ...(exporter && { exporter }) })).entries;

function resourceOf(batch: Batch): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  readRecords(batch, ({ resource }) => {
    for (const key of resource.attributes.keys()) found[key] = resource.attributes.get(key);
  });
  return found;
}

const withJournal = (directory: string) => `
processors: {tail_sampling: {decision_wait: 10ms, policies: [{name: all, type: always_sample}]}}
extensions: {reliability: {directory: "${directory}", dead_letter: {forward_to: collect}}}
exporters:
  bad: {sending_queue: {enabled: false}}
  bad/queued: {}
  collect: {}
service:
  extensions: [reliability]
  pipelines:
    traces: {receivers: [hand], processors: [tail_sampling], exporters: [bad]}
    logs: {receivers: [hand], exporters: [bad/queued]}
`;

describe("a dead letter that is forwarded", () => {
  it("is never one of a journal, because the processors behind it have not treated it", async () => {
    const agent = await start(undefined, withJournal);
    await agent.hand(spanBatch([{ trace: traceId("one"), span: "1".padStart(16, "0"), name: "untreated" }]));
    await expect.poll(async () => (await deadLetters(agent, "intake/traces")).length).toBe(1);
    await agent.hand(logs("of an exporter"));
    await expect.poll(() => copies.count).toBe(1);
    expect(bodies(copies.batches[0]!)).toEqual(["of an exporter"]);
    expect((await deadLetters(agent, "intake/traces"))[0]?.forwarded).toBeUndefined();
  });

  it("is kept, and a copy that says why it failed goes to an exporter that no pipeline ends in", async () => {
    const agent = await start();
    await agent.hand(logs("one"));
    await expect.poll(() => copies.count).toBe(1);
    const [kept] = await deadLetters(agent);
    expect(bodies(copies.batches[0]!)).toEqual(["one"]);
    expect(resourceOf(copies.batches[0]!)).toMatchObject({
      "sluice.dead_letter.id": kept!.id,
      "sluice.dead_letter.exporter": "bad",
      "sluice.dead_letter.pipeline": "logs",
      "sluice.dead_letter.reason": "permanent",
      "sluice.dead_letter.category": "business",
      "sluice.dead_letter.error": "HTTP 400",
      "sluice.dead_letter.message": "no such table",
    });
    const state = async () => (await deadLetters(agent))[0]?.forwarded;
    await expect.poll(state).toMatchObject({ to: "collect", state: "delivered" });
    expect(agent.metrics.value("sluice_dead_letters_forwarded", { exporter: "bad", to: "collect" })).toBe(1);
  });

  it("has the code of its kind as its class when the refusal says no more", async () => {
    refusing.refusal = new Refusal("permanent", "an order without an id");
    const agent = await start();
    await agent.hand(logs("one"));
    await expect.poll(() => copies.count).toBe(1);
    expect(resourceOf(copies.batches[0]!)["sluice.dead_letter.error"]).toBe("SLUICE_PERMANENT");
    expect((await deadLetters(agent))[0]!.failure!.error.class).toBe("SLUICE_PERMANENT");
  });

  it("becomes no dead letter of the other exporter when that refuses it: the failure is noted on it", async () => {
    copies.refuse(new Refusal("permanent", "not here either"));
    const agent = await start();
    await agent.hand(logs("one", "two", "three"));
    const state = async () => (await deadLetters(agent, "bad")).map(({ forwarded }) => forwarded?.state);
    await expect.poll(state).toEqual(["failed", "failed", "failed"]);
    const [kept] = await deadLetters(agent, "bad");
    expect(kept!.forwarded!.error).toContain("not here either");
    expect(await deadLetters(agent, "collect")).toEqual([]);
    expect(agent.metrics.value("sluice_dead_letter_forward_failures", { exporter: "collect" })).toBe(3);
  });

  it("does not loop when two exporters forward to each other", async () => {
    copies.refuse(new Refusal("permanent", "no"));
    const agent = await start(undefined, yaml("", ", dead_letter: {forward_to: bad}"));
    await agent.hand(logs("one"));
    await expect
      .poll(async () => (await deadLetters(agent)).map(({ forwarded }) => forwarded?.state))
      .toEqual(["failed"]);
    const sent = copies.refused;
    await new Promise((done) => setTimeout(done, 100));
    expect(copies.refused).toBe(sent);
    expect((await deadLetters(agent)).map(({ exporter }) => exporter)).toEqual(["bad"]);
  });

  it("is forwarded after a restart when it could not be before, and not twice", async () => {
    copies.refuse(new Refusal("transient", "not now"));
    const first = await start();
    await first.hand(logs("one"));
    await expect.poll(async () => (await deadLetters(first))[0]?.forwarded?.state).toBe("queued");
    const { directory } = first;
    await first.agent.stop(0);
    copies.refuse(undefined);
    const second = await start(directory);
    await expect.poll(() => copies.count).toBe(1);
    await expect.poll(async () => (await deadLetters(second))[0]?.forwarded?.state).toBe("delivered");
    expect(copies.count).toBe(1);
    await second.agent.stop(0);
  });

  it("is forwarded too when it was there before the config said so", async () => {
    const first = await start(undefined, (directory) => yaml()(directory).replace("forward_to: collect", ""));
    await first.hand(logs("one"));
    await expect.poll(async () => (await deadLetters(first)).length).toBe(1);
    await first.agent.stop(1000);
    await start(first.directory);
    await expect.poll(() => copies.batches.flatMap(bodies)).toEqual(["one"]);
  });

  it("is forwarded again when it was replayed and has failed again", async () => {
    const agent = await start();
    await agent.hand(logs("one"));
    await expect.poll(async () => (await deadLetters(agent))[0]?.forwarded?.state).toBe("delivered");
    const [{ id } = { id: "" }] = await deadLetters(agent);
    await agent.agent.admin!.replay({ ids: [id] }, { by: "test" });
    await expect.poll(() => copies.count).toBe(2);
    expect(resourceOf(copies.batches[1]!)["sluice.dead_letter.replays"]).toBe(1);
  });

  it("tells a webhook why it failed", async () => {
    const hook = await startSink();
    const body =
      '{text: "{{ dead_letter.exporter }}: {{ dead_letter.reason }}, {{ dead_letter.message }}", what: "{{ body }}"}';
    const text = (directory: string) =>
      yaml(`webhook: {endpoint: "http://127.0.0.1:${hook.port}/x", allow_private_addresses: true, body: ${body}}`)(
        directory,
      ).replace("forward_to: collect", "forward_to: webhook");
    const agent = await start(undefined, text);
    await agent.hand(logs("one"));
    await expect
      .poll(() => hook.requests.map((request) => JSON.parse(request.body.toString())))
      .toEqual([{ text: "bad: permanent, no such table", what: "one" }]);
    await hook.close();
  });
});

it.each([
  ["and waits for room in the other queue", 2],
  ["in a queue with room for all", 0],
])("writes a copy once though noting it has failed, %s", async (_title, queueSize) => {
  const [from, to] = [new MemoryStore({ exporter: "bad" }), new MemoryStore({ exporter: "out" })];
  await from.open();
  await to.open();
  const error = { kind: "permanent", class: "HTTP 400", code: "x", message: "no" } as const;
  const failure = {
    at: 1,
    reason: "permanent",
    category: "schema",
    error,
    signature: "s",
    names: [],
    traceIds: [],
    schemaUrls: [],
  } as const;
  const fresh = { pipeline: "logs", source: { receiver: "r", transport: "t" }, enqueuedAt: 1, generation: "1" };
  for (const body of ["one", "two"])
    await from.put({ ...fresh, batch: logs(body), fields: { state: "failed", failure } });
  const clock = new FakeClock();
  const control = (store: MemoryStore, queue_size: number) =>
    ({
      id: store,
      store,
      settings: completeSettings({ sending_queue: { queue_size } }),
      onReplayed() {},
    }) as unknown as QueueControl;
  const target = control(to, queueSize);
  const services = {
    clock,
    logger: listeningLogger(),
    metrics: countedMetrics(),
    running: { config: { generation: "1" } },
    controls: new Map([["out", target]]),
  };
  const forwarder = new DeadLetterForwarder("bad", "out", services);
  let failures = 1;
  const fail = from.fail.bind(from);
  from.fail = (ref, entry) => (failures-- > 0 ? Promise.reject(new Error("disk")) : fail(ref, entry));
  forwarder.start(control(from, 0));
  const settle = async (ms: number) => {
    clock.advance(ms);
    for (let i = 0; i < 20; i++) await new Promise(setImmediate);
  };
  await settle(1);
  expect(to.stats.pending.entries).toBe(1);
  expect((await from.failed(undefined, 9, "oldest")).map(({ entry }) => entry.forwarded)).toEqual([
    undefined,
    undefined,
  ]);
  for (let i = 0; i < 3; i++) await settle(2000);
  // Of a queue for two, one is as much as copies may take.
  expect(to.stats.pending.entries).toBe(queueSize === 0 ? 2 : 1);
  const [copy] = await to.pending(undefined, 9);
  expect(copy!.entry.forwardOf).toMatchObject({ exporter: "bad" });
  to.ack(copy!.ref);
  for (let i = 0; i < 3; i++) await settle(2000);
  expect((await from.failed(undefined, 9, "oldest")).map(({ entry }) => entry.forwarded?.to)).toEqual(["out", "out"]);
  await forwarder.stop();
});

describe("a config that forwards", () => {
  const problemsOf = (forwardTo: string, more = "") => {
    const text = `
receivers: {otlp: {protocols: {http: }}}
exporters:
  otlp_http: {endpoint: "http://localhost:1", dead_letter: {forward_to: ${forwardTo}}}
  file: {path: /tmp/x}
  ${more}
service: {pipelines: {logs: {receivers: [otlp], exporters: [otlp_http]}}}`;
    try {
      return resolve(text).exporters;
    } catch (error) {
      return (error as Error).message;
    }
  };

  it("needs another exporter that is there and takes the signal", () => {
    expect(problemsOf("fille")).toContain(
      'exporters.otlp_http.dead_letter.forward_to: exporter "fille" is not defined',
    );
    expect(problemsOf("otlp_http")).toContain("expected another exporter");
    const metricsOnly = 'prometheus_remote_write: {endpoint: "http://localhost:1"}';
    expect(problemsOf("prometheus_remote_write", metricsOnly)).toContain(
      "cannot send dead letters of logs: it supports only metrics",
    );
  });

  it("starts that exporter though no pipeline names it", () => {
    const exporters = problemsOf("file");
    expect(typeof exporters === "string" ? exporters : [...exporters.keys()]).toEqual(["otlp_http", "file"]);
  });

  it("does not start when that exporter has no queue", async () => {
    const text = (directory: string) =>
      yaml()(directory).replace("collect: {", "collect: {sending_queue: {enabled: false}, ");
    await expect(start(undefined, text)).rejects.toThrow(/has no queue/);
  });
});
