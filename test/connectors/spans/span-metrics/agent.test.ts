import { afterEach, expect, it } from "vitest";
import { ACCEPTED } from "../../../../src/runtime/contract/debt.js";
import { type CollectingExporter, collectingExporter } from "../../../support/collecting-exporter.js";
import { cleanUp, type FedAgent, startFed } from "../../../support/fed-agent.js";
import { pointsOf, span, spansOfService } from "../support.js";

afterEach(cleanUp);

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

it("answers before a flush, and counts after an abrupt end what it has acknowledged and not handed on", async () => {
  const first = collectingExporter();
  const { agent, hand, directory } = await start(first);
  expect(await hand(BATCH)).toEqual(ACCEPTED);
  expect(await hand(BATCH)).toEqual(ACCEPTED);
  await agent.stop(0); // aborts: nothing is flushed
  expect(first.batches).toEqual([]);
  const second = collectingExporter();
  const again = await start(second, directory);
  expect(await again.hand(BATCH)).toEqual(ACCEPTED);
  await again.agent.stop();
  await expect.poll(() => counted(second)).toEqual(["6"]);
  const third = collectingExporter();
  const last = await start(third, directory);
  await last.agent.stop();
  expect(third.batches).toEqual([]);
});

it("keeps nothing on disk where it is told so, and hands on what it counted when it stops", async () => {
  const exporter = collectingExporter();
  const { agent, hand } = await start(exporter, undefined, ", durable: false");
  expect(await hand(BATCH)).toEqual(ACCEPTED);
  expect(agent.admin!.exporters().map(({ id }) => id)).toEqual(["collect"]);
  await agent.stop();
  await expect.poll(() => counted(exporter)).toEqual(["2"]);
});
