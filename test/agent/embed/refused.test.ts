import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { type Batch, defineProcessor, eachBatch, Refusal } from "../../../src/plugin.js";
import { type OtlpSink, startSink } from "../../support/otlp-sink.js";
import { bodies } from "../../support/telemetry/batches.js";
import { ACCEPTED, cleanUp, keeper, keptLog, metric, REFUSED, started, temporaryFolder } from "./support.js";

const sinks: OtlpSink[] = [];
afterEach(async () => {
  await cleanUp();
  await Promise.all(sinks.splice(0).map((sink) => sink.close()));
});

const logsInto = (exporter: string, more: object = {}) => ({
  pipelines: { logs: { receivers: ["app"], exporters: [exporter], ...more } },
});

/** A backend that fails, behind a queue for one request. */
async function fullQueue() {
  const sink = await startSink();
  sinks.push(sink);
  sink.decide(() => 503);
  const otlp_http = { endpoint: sink.url, retry_on_failure: { initial_interval: "2s", jitter: "none" } };
  const configOf = (sending_queue: object) => ({
    exporters: { otlp_http: { ...otlp_http, sending_queue } },
    service: logsInto("otlp_http"),
  });
  return { sink, config: configOf({ queue_size: 1, sizer: "requests" }), largerConfig: configOf({}) };
}

/** A processor that does this to every batch, before an exporter in memory. */
function processing(run: (batch: Batch) => Batch) {
  const kept = keeper();
  const tried = defineProcessor({ type: "tried", create: () => eachBatch(run) });
  const service = logsInto("kept", { processors: ["tried"] });
  const config = { processors: { tried: {} }, exporters: { kept: {} }, service };
  return { config, components: [...kept.components, tried], arrived: () => kept.batches.flatMap(bodies) };
}

describe("what a program emits without failOnError and the pipeline refuses", () => {
  it("is kept on disk while the queue is full, and delivered when it is not any more", async () => {
    const { sink, config, largerConfig } = await fullQueue();
    const queueDirectory = temporaryFolder();
    const sluice = await started({ config, queueDirectory });
    for (const body of ["a", "b", "c"]) await sluice.logs.emit({ body });
    expect([metric(sluice, ACCEPTED), metric(sluice, REFUSED)]).toEqual([3, 0]);
    expect(sluice.status().exporters.map(({ id }) => id)).toEqual(["otlp_http", "intake/logs"]);
    await sluice.stop(0);
    sink.decide(() => 200);
    await started({ config: largerConfig, queueDirectory });
    await expect.poll(() => sink.batches.flatMap(bodies).sort()).toEqual(["a", "b", "c"]);
  });

  it("is given back to who has asked for it, also in the same turn of the event loop", async () => {
    const { config } = await fullQueue();
    const sluice = await started({ config, queueDirectory: temporaryFolder() });
    await sluice.logs.emit({ body: "fills the queue" });
    const silent = sluice.logs.emit({ body: "silent" });
    const told = sluice.logs.emit({ body: "told" }, { failOnError: true });
    await expect(told).rejects.toMatchObject({ code: "SLUICE_QUEUE_FULL" });
    await silent;
    expect([metric(sluice, ACCEPTED), metric(sluice, REFUSED)]).toEqual([2, 1]);
    expect(sluice.status().exporters.map(({ queue }) => queue.items)).toEqual([1, 1]);
  });

  it("is handed in by the next run when a processor failed on it in this one", async () => {
    const queueDirectory = temporaryFolder();
    const failing = processing(() => {
      throw new Error("not today");
    });
    const first = await started({ ...failing, queueDirectory });
    await first.logs.emit({ body: "a" });
    await first.stop();
    expect([metric(first, ACCEPTED), metric(first, REFUSED)]).toEqual([1, 0]);
    const mended = processing((batch) => batch);
    const { lines, logger } = keptLog();
    const second = await started({ ...mended, queueDirectory, logger });
    await expect.poll(() => mended.arrived()).toEqual(["a"]);
    await second.stop();
    expect(lines).toEqual([]);
  });

  it("is a dead letter when it is refused for good, and passes the processors again when it is replayed", async () => {
    let isMended = false;
    const { arrived, ...pipeline } = processing((batch) => {
      if (!isMended) throw new Refusal("permanent", "no such order", { code: "NO_ORDER", category: "business" });
      return batch;
    });
    const sluice = await started({ ...pipeline, queueDirectory: temporaryFolder() });
    await sluice.logs.emit({ body: "a" });
    const { entries } = await sluice.deadLetters.list();
    expect(entries).toMatchObject([{ exporter: "intake/logs", failure: { reason: "permanent" } }]);
    isMended = true;
    await sluice.replay({ ids: [entries[0]!.id] });
    await expect.poll(arrived).toEqual(["a"]);
  });

  it("is one dead letter when an exporter whose result is waited for has made one of it", async () => {
    const { sink, largerConfig } = await fullQueue();
    sink.decide(() => 400);
    const { otlp_http } = largerConfig.exporters;
    const exporters = { otlp_http: { ...otlp_http, sending_queue: { wait_for_result: true } } };
    const sluice = await started({ config: { ...largerConfig, exporters }, queueDirectory: temporaryFolder() });
    await sluice.logs.emit({ body: "a" });
    expect((await sluice.deadLetters.list()).entries).toMatchObject([{ exporter: "otlp_http" }]);
  });

  it("is kept also when a stop cannot wait for it", async () => {
    const queueDirectory = temporaryFolder();
    const service = logsInto("kept");
    const config = { exporters: { kept: {} }, service };
    const hanging = keeper(() => new Promise(() => {}));
    const first = await started({ config, components: hanging.components, queueDirectory });
    const emitted = first.logs.emit({ body: "a" });
    await first.stop(0);
    await emitted;
    expect(metric(first, REFUSED)).toBe(0);
    const { batches, components } = keeper();
    await started({ config, components, queueDirectory });
    await expect.poll(() => batches.flatMap(bodies)).toEqual(["a"]);
  });

  it("is counted and reported when it cannot be kept", async () => {
    const queueDirectory = temporaryFolder();
    writeFileSync(join(queueDirectory, "intake%2flogs"), "in the way of a directory");
    const { lines, logger } = keptLog();
    const { config } = await fullQueue();
    const sluice = await started({ config, queueDirectory, logger });
    for (const body of ["a", "b"]) await sluice.logs.emit({ body });
    expect([metric(sluice, ACCEPTED), metric(sluice, REFUSED)]).toEqual([1, 1]);
    expect(metric(sluice, "sluice_silent_failures")).toBe(1);
    expect(lines.join("\n")).toContain("could not be stored on disk");
    expect(lines.join("\n")).toContain("records emitted by the program were refused");
    expect((await sluice.deadLetters.list()).entries).toEqual([]);
  });

  it("makes no journal while nothing is refused, nor where the config turns it off", async () => {
    const queueDirectory = temporaryFolder();
    const { components } = keeper();
    const config = { exporters: { kept: {} }, service: logsInto("kept") };
    await (await started({ config, components, queueDirectory })).logs.emit({ body: "a" });
    const refusing = keeper(async () => {
      throw new Error("no");
    });
    const service = logsInto("kept", { intake: { durable: "off" } });
    const off = await started({ config: { ...config, service }, components: refusing.components, queueDirectory });
    await off.logs.emit({ body: "b" });
    expect(metric(off, REFUSED)).toBe(1);
    expect(readdirSync(queueDirectory)).toEqual([]);
  });
});
