import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { decodeTree } from "../../src/runtime/otlp/json/tree.js";
import { span, spansOfService } from "../connectors/spans/support.js";
import { startAgentProcess } from "../support/agent-process.js";
import { startSink } from "../support/otlp-sink.js";
import { recordsOf } from "../support/telemetry/trees.js";
import { temporaryFolder } from "../support/temporary-folder.js";

it("counts every span that was acknowledged, however often the agent is killed", async () => {
  const sink = await startSink();
  onTestFinished(() => sink.close());
  const loopback = "127.0.0.1:0";
  const yaml = `
receivers: {otlp: {protocols: {http: {endpoint: "${loopback}"}}}}
exporters: {otlp_http: {endpoint: "${sink.url}"}}
connectors:
  span_metrics:
    metrics_flush_interval: 150ms
    aggregation_temporality: AGGREGATION_TEMPORALITY_DELTA
    histogram: {disable: true}
extensions:
  reliability: {directory: ${JSON.stringify(join(temporaryFolder(), "queue"))}}
  admin: {endpoint: "${loopback}"}
  health_check: {endpoint: "${loopback}"}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    traces: {receivers: [otlp], exporters: [span_metrics]}
    metrics: {receivers: [span_metrics], exporters: [otlp_http]}
`;
  const { bytes } = spansOfService("shop", [span("a", 1), span("b", 2), span("c", 3)]);
  let acknowledged = 0;
  for (let run = 0; run < 3; run++) {
    const agent = await startAgentProcess({ yaml });
    const url = `http://127.0.0.1:${agent.ports.http}/v1/traces`;
    const headers = { "content-type": "application/x-protobuf" };
    for (let i = 0; i < 40; i++) {
      const response = await fetch(url, { method: "POST", headers, body: bytes as Uint8Array<ArrayBuffer> });
      if (response.status === 200) acknowledged += 3;
    }
    agent.child.kill("SIGKILL");
    await agent.exited;
  }
  const last = await startAgentProcess({ yaml });
  const counted = () =>
    sink.batches
      .flatMap((batch) => recordsOf("metrics", decodeTree(batch)))
      .reduce((sum, { record }) => sum + Number(record["asInt"]), 0);
  expect(acknowledged).toBe(360);
  await expect.poll(counted).toBeGreaterThanOrEqual(acknowledged);
  last.child.kill("SIGTERM");
  expect(await last.exited).toBe(0);
  // A flush that the sink has and the journal has not noted yet is sent again: at most the data of one interval.
  expect(counted()).toBeLessThanOrEqual(acknowledged + 3 * 120);
});
