import { afterEach, expect, it } from "vitest";
import { ACCEPTED } from "../../../../src/runtime/contract/debt.js";
import { type CollectingExporter, collectingExporter } from "../../../support/collecting-exporter.js";
import { cleanUp, type FedAgent, startFed } from "../../../support/fed-agent.js";
import { pointsOf, span, spansOfService } from "../support.js";

afterEach(cleanUp);

const DELTAS = ", aggregation_temporality: AGGREGATION_TEMPORALITY_DELTA";
const BATCH = spansOfService("shop", [span("a", 1), span("a", 2)]);

function start(exporter: CollectingExporter, directory?: string, config = ""): Promise<FedAgent> {
  const yaml = (queues: string) => `
exporters: {collect: }
connectors: {span_metrics: {metrics_flush_interval: 1h, histogram: {disable: true}${config}}}
extensions: {reliability: {directory: ${JSON.stringify(queues)}}}
service:
  extensions: [reliability]
  pipelines:
    traces: {receivers: [hand], exporters: [span_metrics]}
    metrics: {receivers: [span_metrics], exporters: [collect]}
`;
  const components = [exporter.factory];
  return startFed(yaml, { components, ...(directory === undefined ? {} : { directory }) });
}

const counted = (exporter: CollectingExporter) => pointsOf(exporter.batches).map((point) => point.split("} ")[1]);

/**
 * The queues of an agent that has acknowledged four spans and sent no metrics. Occasionally the abort comes too late
 * for that.
 */
async function abruptlyEnded(): Promise<string> {
  for (;;) {
    const exporter = collectingExporter();
    const { agent, hand, directory } = await start(exporter, undefined, DELTAS);
    expect(await hand(BATCH)).toEqual(ACCEPTED);
    expect(await hand(BATCH)).toEqual(ACCEPTED);
    await agent.stop(0);
    if (exporter.batches.length === 0) return directory;
  }
}

it("answers before a flush, and after a crash counts acknowledged spans whose metrics were not sent", async () => {
  const directory = await abruptlyEnded();
  const second = collectingExporter();
  const again = await start(second, directory, DELTAS);
  expect(await again.hand(BATCH)).toEqual(ACCEPTED);
  await again.agent.stop();
  await expect.poll(() => counted(second).reduce((sum, value) => sum + Number(value), 0)).toBe(6);
  const third = collectingExporter();
  const last = await start(third, directory);
  await last.agent.stop();
  expect(third.batches).toEqual([]);
});

it("counts spans that pass the processor spanmetrics, for the exporter it names", async () => {
  const exporter = collectingExporter();
  const { agent, hand } = await startFed(
    (queues) => `
exporters: {collect: , nop: }
processors: {spanmetrics: {metrics_exporter: collect, dimensions: [{name: region, default: eu}]}}
extensions: {reliability: {directory: ${JSON.stringify(queues)}}}
service:
  extensions: [reliability]
  pipelines:
    traces: {receivers: [hand], processors: [spanmetrics], exporters: [nop]}
    metrics: {receivers: [hand], exporters: [collect]}
`,
    { components: [exporter.factory] },
  );
  expect(await hand(BATCH)).toEqual(ACCEPTED);
  expect(agent.admin!.exporters().map(({ id }) => id)).toContain("intake/connector/spanmetrics");
  await agent.stop();
  const labels = "operation=a,region=eu,service.name=shop,span.kind=SPAN_KIND_SERVER,status.code=STATUS_CODE_UNSET";
  await expect
    .poll(() => pointsOf(exporter.batches))
    .toEqual([`calls{${labels}} 0`, `calls{${labels}} 2`, `latency{${labels}} 2 of 3`]);
});

it("counts what the processors before spanmetrics leave, passes it on to those behind it, and is chosen by name", async () => {
  const exporter = collectingExporter();
  const { agent, hand } = await startFed(
    () => `
exporters: {collect/spans: , collect/metrics: }
connectors: {routing: {default_pipelines: [traces/eu], table: [{condition: "true", pipelines: [traces/eu]}]}}
processors:
  filter/before: {traces: {span: ['name == "dropped before"']}}
  spanmetrics: {metrics_exporter: collect/metrics, durable: false}
  filter/behind: {traces: {span: ['name == "dropped behind"']}}
service:
  pipelines:
    traces: {receivers: [hand], exporters: [routing]}
    traces/eu: {receivers: [routing], processors: [filter/before, spanmetrics, filter/behind], exporters: [collect/spans]}
    metrics: {receivers: [hand], exporters: [collect/metrics]}
`,
    { components: [exporter.factory] },
  );
  const batch = spansOfService("shop", [span("dropped before", 1), span("dropped behind", 1), span("kept", 1)]);
  expect(await hand(batch)).toEqual(ACCEPTED);
  await agent.stop();
  const ofSignal = (signal: string) => exporter.batches.filter((each) => each.signal === signal);
  const operations = pointsOf(ofSignal("metrics")).map((point) => /operation=([^,]*)/.exec(point)?.[1]);
  expect([...new Set(operations)].sort()).toEqual(["dropped behind", "kept"]);
  expect(ofSignal("traces").map(({ count }) => count)).toEqual([1]);
});

it("does not start if the exporter that the processor spanmetrics names does not exist", async () => {
  const started = startFed(
    () => `
exporters: {nop: }
processors: {spanmetrics: {metrics_exporter: prometheus}}
service:
  pipelines:
    traces: {receivers: [hand], processors: [spanmetrics], exporters: [nop]}
`,
  );
  await expect(started).rejects.toThrow("no pipeline of metrics has the exporter prometheus");
});

it("keeps nothing on disk if configured, and sends what it counted when it stops", async () => {
  const exporter = collectingExporter();
  const { agent, hand } = await start(exporter, undefined, ", durable: false");
  expect(await hand(BATCH)).toEqual(ACCEPTED);
  expect(agent.admin!.exporters().map(({ id }) => id)).toEqual(["collect"]);
  await agent.stop();
  await expect.poll(() => counted(exporter)).toEqual(["0", "2"]);
});
