import { expect, it } from "vitest";
import { spanMetrics } from "../../../../src/connectors/spans/span-metrics/component.js";
import type { Batch } from "../../../../src/plugin.js";
import { decodeTree } from "../../../../src/runtime/otlp/json/tree.js";
import { recordsOf } from "../../../support/telemetry/trees.js";
import { running, span, spansOfService } from "../support.js";

/** The beginning of the second flush: the first counts of series that began with 0. */
async function countsOf(flush: () => Promise<Batch[]>): Promise<Batch[]> {
  const { length } = await flush();
  return (await flush()).slice(0, length);
}

it("limits the bytes of long names, and still counts their spans", async () => {
  const { give, flush } = running(spanMetrics, { histogram: { disable: true } });
  const long = "x".repeat(1024 * 1024);
  for (let i = 0; i < 200; i++) give(spansOfService("shop", [span(`${i} ${long}`, 1)]));
  const records = (await countsOf(flush)).flatMap((batch) => recordsOf("metrics", decodeTree(batch)));
  expect(records.length).toBeLessThan(150);
  expect(records.reduce((sum, { record }) => sum + Number(record["asInt"]), 0)).toBe(200);
});

it("limits the bytes of long resources, and still counts their spans", async () => {
  const { give, flush } = running(spanMetrics, { histogram: { disable: true } });
  const long = "x".repeat(1024 * 1024);
  for (let i = 0; i < 200; i++) give(spansOfService(`${i} ${long}`, [span("a", 1)]));
  const records = (await countsOf(flush)).flatMap((batch) => recordsOf("metrics", decodeTree(batch)));
  expect(records.length).toBeLessThan(150);
  expect(records.reduce((sum, { record }) => sum + Number(record["asInt"]), 0)).toBe(200);
});
