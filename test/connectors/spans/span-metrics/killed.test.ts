import { cpSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { z } from "zod";
import { type Batch, defineExporter, SIGNALS } from "../../../../src/plugin.js";
import { ACCEPTED } from "../../../../src/runtime/contract/debt.js";
import { cleanUp, startFed } from "../../../support/fed-agent.js";
import { pointsOf, span, spansOfService } from "../support.js";

afterEach(cleanUp);

/** A backend that stores a request once, by its key. */
class Backend {
  readonly kept = new Map<string, Batch>();
  /** The keys of all requests since an agent was started. */
  keys: string[] = [];
  onSend = async () => {};
  readonly factory = defineExporter({
    type: "keep_once",
    summary: "test",
    signals: SIGNALS,
    schema: z.strictObject({}),
    create: () => ({
      send: async (batch, _abort, options) => {
        this.kept.set(options!.idempotencyKey!, batch);
        this.keys.push(options!.idempotencyKey!);
        await this.onSend();
      },
    }),
  });

  get counted(): number {
    const points = pointsOf([...this.kept.values()]);
    return points.reduce((sum, point) => sum + Number(point.split("} ")[1]), 0);
  }
}

const yaml = (interval: string, pipelines: string) => (directory: string) =>
  `
exporters: {keep_once: , keep_once/2: }
connectors:
  span_metrics:
    metrics_flush_interval: ${interval}
    histogram: {disable: true}
    aggregation_temporality: AGGREGATION_TEMPORALITY_DELTA
extensions: {reliability: {directory: ${JSON.stringify(directory)}}}
service:
  extensions: [reliability]
  pipelines:
    traces: {receivers: [hand], exporters: [span_metrics]}
${pipelines}
`;

it.each([
  ["one exporter", 1, "    metrics: {receivers: [span_metrics], exporters: [keep_once]}"],
  ["two exporters", 2, "    metrics: {receivers: [span_metrics], exporters: [keep_once, keep_once/2]}"],
  [
    "two pipelines with one exporter",
    2,
    "    metrics: {receivers: [span_metrics], exporters: [keep_once]}\n    metrics/2: {receivers: [span_metrics], exporters: [keep_once]}",
  ],
])("counts spans once if it is killed while their metrics are sent (%s)", async (_name, times, pipelines) => {
  const backend = new Backend();
  const copies: { readonly directory: string; readonly kept: ReadonlyMap<string, Batch> }[] = [];
  const first = await startFed(yaml("1ms", pipelines), { components: [backend.factory] });
  backend.onSend = async () => {
    const copy = mkdtempSync(join(tmpdir(), "sluice-killed-"));
    cpSync(first.directory, copy, { recursive: true, filter: (path) => !path.endsWith("LOCK") });
    copies.push({ directory: copy, kept: new Map(backend.kept) });
  };
  expect(await first.hand(spansOfService("shop", Array(5).fill(span("a", 1))))).toEqual(ACCEPTED);
  await expect.poll(() => backend.counted).toBe(5 * times);
  backend.onSend = async () => {};
  await first.agent.stop();

  expect(copies.length).toBeGreaterThanOrEqual(times);
  for (const { directory, kept } of copies) {
    backend.kept.clear();
    for (const [key, batch] of kept) backend.kept.set(key, batch);
    backend.keys = [];
    const next = await startFed(yaml("1ms", pipelines), { components: [backend.factory], directory });
    await expect.poll(() => next.agent.admin!.exporters().every(({ queue }) => queue.entries === 0)).toBe(true);
    await next.agent.stop();
    expect(backend.counted).toBe(5 * times);
    // The queue of the copy is sent again, and the backend does not accept it a second time.
    expect(backend.keys).toEqual([...new Set(backend.keys)]);
  }
});
