import { describe, expect, it } from "vitest";
import { spanMetrics } from "../../../../src/connectors/spans/span-metrics/component.js";
import { Batch } from "../../../../src/plugin.js";
import { decodeTree, type Tree } from "../../../../src/runtime/otlp/json/tree.js";
import { liveArrayBuffers } from "../../../support/live-heap.js";
import { text } from "../../../support/telemetry/ottl.js";
import { listOf, recordsOf } from "../../../support/telemetry/trees.js";
import { running, span, spansOfService } from "../support.js";

const MIB = 1024 * 1024;
const COUNTS_ONLY = { histogram: { disable: true } };

describe("span_metrics with ever new resources", () => {
  it("counts spans of resources without room in one series without a resource", async () => {
    const { give, flush } = running(spanMetrics, { ...COUNTS_ONLY, max_series: 3 });
    for (let i = 0; i < 10; i++) give(spansOfService(`shop-${i}`, [span("a", 1)]));
    await flush();
    const [batch] = await flush();
    const resources = listOf(decodeTree(batch!), "resourceMetrics") as { resource?: Tree }[];
    expect(resources.map(({ resource }) => resource?.["attributes"] !== undefined)).toEqual([true, true, true, false]);
    const counts = recordsOf("metrics", decodeTree(batch!)).map(({ record }) => Number(record["asInt"]));
    expect(counts).toEqual([1, 1, 1, 7]);
  });

  it("has room again when others have expired", async () => {
    const { give, flush } = running(spanMetrics, { ...COUNTS_ONLY, max_series: 1, metrics_expiration: "90s" });
    give(spansOfService("old", [span("a", 1)]));
    give(spansOfService("new", [span("a", 1)]));
    await flush();
    await flush();
    give(spansOfService("new", [span("a", 1)]));
    const [batch] = await flush();
    const [resource] = listOf(decodeTree(batch!), "resourceMetrics") as { resource: Tree }[];
    expect(resource!.resource["attributes"]).toEqual([{ key: "service.name", value: text("new") }]);
  });

  it("keeps no bytes of their requests in memory", async () => {
    const { give, flush } = running(spanMetrics, COUNTS_ONLY);
    const before = liveArrayBuffers();
    for (let i = 0; i < 40; i++) {
      const { bytes } = spansOfService(`shop-${i}`, [span("a", 1, { traceState: "x".repeat(MIB / 4) })]);
      give(Batch.admit("traces", Buffer.from(bytes)));
    }
    await flush();
    expect(liveArrayBuffers() - before).toBeLessThan(2 * MIB);
  });
});
