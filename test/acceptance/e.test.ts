import { createRequire } from "node:module";
import type { Server } from "node:net";
import { SpanStatusCode } from "@opentelemetry/api";
import { BatchLogRecordProcessor, LoggerProvider } from "@opentelemetry/sdk-logs";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { expect, onTestFinished } from "vitest";
import { createSluice, type Sluice } from "../../src/index.js";
import { Batch, defineExporter, Refusal } from "../../src/plugin.js";
import { silentLogger } from "../../src/runtime/contract/observability.js";
import { SluiceLogRecordExporter, SluiceMetricExporter, SluiceSpanExporter } from "../../src/sdk.js";
import { bodies } from "../support/telemetry/batches.js";
import { temporaryFolder } from "../support/temporary-folder.js";
import { notYet, row } from "./row.js";
import { startBackendSink } from "./support/parallel-pipelines.js";
import { recordsIn } from "./support/started-agent.js";

/** A program whose backend refuses everything for good, or takes everything, as the test says. */
async function startShop(options: { failOnError?: boolean } = {}) {
  const backend: { refuses: boolean; readonly batches: Batch[] } = { refuses: true, batches: [] };
  const exporter = defineExporter({
    type: "backend",
    defaults: { sending_queue: { enabled: false }, retry_on_failure: { enabled: false } },
    create: () => ({
      async send(batch) {
        if (backend.refuses) throw new Refusal("permanent", "the backend takes nothing");
        backend.batches.push(batch);
        return undefined;
      },
    }),
  });
  const pipelines = { logs: { receivers: ["app"], exporters: ["backend"] } };
  const config = { exporters: { backend: {} }, service: { pipelines } };
  const common = { logger: silentLogger, queueDirectory: temporaryFolder(), components: [exporter] };
  const sluice = await createSluice({ config, ...common, ...options });
  await sluice.start();
  onTestFinished(() => sluice.stop(0));
  return { sluice, backend };
}

const metricOf = (sluice: Sluice, name: string) =>
  sluice
    .metrics()
    .reduce((sum, sample) => (sample.name === name && sample.kind !== "histogram" ? sum + sample.value : sum), 0);

row(
  "E1",
  "swallows, keeps and counts what fails, and throws only where it is asked to",
  "In a Node app the runtime never throws into business code unless asked: fail_on_error false swallows, dead-letters and counts; true raises; settable per call or scope [e11y C18].",
  async () => {
    const { sluice, backend } = await startShop();
    // Swallowed, and kept as a dead letter that can be replayed when the backend takes data again.
    await sluice.logs.emit({ body: "order paid" });
    const { entries } = await deadLettersOf(sluice, 1);
    expect(entries[0]).toMatchObject({ exporter: "intake/logs", failure: { reason: "permanent" } });
    backend.refuses = false;
    await sluice.replay({ query: {} }, { by: "ann" });
    await expect.poll(() => backend.batches.flatMap(bodies)).toEqual(["order paid"]);
    backend.refuses = true;

    // By call, and by scope, across awaits and timers.
    const refusal = { kind: "permanent" };
    await expect(sluice.logs.emit({ body: "a" }, { failOnError: true })).rejects.toMatchObject(refusal);
    await sluice.withFailOnError(true, async () => {
      await new Promise((resolve) => setTimeout(resolve, 1));
      await expect(sluice.logs.emit({ body: "b" })).rejects.toMatchObject(refusal);
      await sluice.withFailOnError(false, () => sluice.logs.emit({ body: "c" }));
    });
    // By instance, and by call against it.
    const strict = await startShop({ failOnError: true });
    await expect(strict.sluice.logs.emit({ body: "d" })).rejects.toMatchObject(refusal);
    await strict.sluice.logs.emit({ body: "e" }, { failOnError: false });

    // A value that throws does not cost the record. What nobody can keep is counted, and still nothing is thrown.
    await sluice.logs.emit({
      attributes: {
        get bad(): never {
          throw new Error("a getter of business code");
        },
      },
    });
    expect(metricOf(sluice, "sluice_silent_failures")).toBe(0);
    await sluice.stop(0);
    await sluice.logs.emit({ body: "too late" });
    void sluice.logs.emit({ body: "nobody waits for this" }, { failOnError: true });
    await new Promise((resolve) => setImmediate(resolve));
    expect(metricOf(sluice, "sluice_silent_failures")).toBe(1);
  },
);

async function deadLettersOf(sluice: Sluice, count: number) {
  await expect.poll(async () => (await sluice.deadLetters.list({})).entries.length).toBe(count);
  return sluice.deadLetters.list({});
}

/** Fails the test if anything in this process listens or sends while `run` runs. */
async function withoutNetwork(run: () => Promise<void>): Promise<void> {
  const net = createRequire(import.meta.url)("node:net") as typeof import("node:net");
  const { connect } = net.Socket.prototype;
  const { listen } = net.Server.prototype;
  const uses: string[] = [];
  net.Socket.prototype.connect = function (...args: unknown[]) {
    uses.push(`connect ${JSON.stringify(args[0])}`);
    return Reflect.apply(connect, this, args) as typeof this;
  };
  net.Server.prototype.listen = function (this: Server, ...args: unknown[]) {
    uses.push("listen");
    return Reflect.apply(listen, this, args) as typeof this;
  } as typeof listen;
  try {
    await run();
  } finally {
    net.Socket.prototype.connect = connect;
    net.Server.prototype.listen = listen;
  }
  expect(uses).toEqual([]);
}

row(
  "E2",
  "takes logs, spans and metrics of the OpenTelemetry SDK, and lines of pino, in the process",
  "In-process exporters for the OpenTelemetry SDK (logs, traces, metrics), no network hop;",
  async () => {
    const batches: Batch[] = [];
    const kept = defineExporter({
      type: "kept",
      defaults: { sending_queue: { enabled: false } },
      create: () => ({
        async send(batch) {
          batches.push(batch);
          return undefined;
        },
      }),
    });
    const pipeline = { receivers: ["app"], exporters: ["kept"] };
    const config = {
      exporters: { kept: {} },
      service: { pipelines: { logs: pipeline, traces: pipeline, metrics: pipeline } },
    };
    await withoutNetwork(async () => {
      const sluice = await createSluice({
        config,
        components: [kept],
        logger: silentLogger,
        queueDirectory: temporaryFolder(),
      });
      await sluice.start();
      const logs = new LoggerProvider({
        processors: [new BatchLogRecordProcessor({ exporter: new SluiceLogRecordExporter(sluice) })],
      });
      const traces = new BasicTracerProvider({
        spanProcessors: [new BatchSpanProcessor(new SluiceSpanExporter(sluice))],
      });
      const metrics = new MeterProvider({
        readers: [new PeriodicExportingMetricReader({ exporter: new SluiceMetricExporter(sluice) })],
      });
      logs.getLogger("shop").emit({ eventName: "order.paid", body: "from the SDK" });
      const span = traces.getTracer("shop").startSpan("checkout");
      span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
      metrics.getMeter("shop").createCounter("orders").add(3);
      await Promise.all([logs.shutdown(), traces.shutdown(), metrics.shutdown()]);
      await sluice.stop();
    });
    const found = recordsIn({ batches }, (record) => [record.signal, record.name]).sort();
    expect(found).toEqual([
      ["logs", "order.paid"],
      ["metrics", "orders"],
      ["traces", "checkout"],
    ]);
    expect(batches.every((batch) => Batch.admit(batch.signal, batch.bytes).count === batch.count)).toBe(true);
  },
);

row("E2", "is a destination and a transport of pino", "a pino transport.", async () => {
  const sink = await startBackendSink();
  const { pino } = await import("pino");
  const config = {
    exporters: { otlp_http: { endpoint: sink.url } },
    service: { pipelines: { logs: { receivers: ["app"], exporters: ["otlp_http"] } } },
  };
  const sluice = await createSluice({ config, logger: silentLogger, queueDirectory: temporaryFolder() });
  await sluice.start();
  pino(sluice.pinoDestination()).child({ user: "u-1" }).warn({ order: 42 }, "in this thread");
  await sluice.stop();

  // As a program does that has installed the package: pino finds the target by its name, and starts a worker.
  const target = createRequire(import.meta.url).resolve("sluice/pino");
  const transport = pino.transport({ target, options: { endpoint: sink.url, queueDirectory: temporaryFolder() } });
  pino(transport).error({ order: 43 }, "in a worker");
  const seen = () =>
    recordsIn(sink, (record) =>
      record.signal === "logs" ? [record.body, record.severityNumber, record.attributes.get("order")] : [],
    );
  await expect.poll(seen).toEqual([
    ["in this thread", 13, 42],
    ["in a worker", 17, 43],
  ]);
  transport.end();
});

notYet(
  "E3",
  "gives handlers of NestJS and BullMQ the same retries, breaker, dead letters and replay",
  "The handlers of frameworks people have (NestJS, BullMQ) get R, C, B, X, P, K without leaving them [foodies, story].",
  "there is no adapter for a framework; handlers are functions of Sluice (defineHandler)",
);
