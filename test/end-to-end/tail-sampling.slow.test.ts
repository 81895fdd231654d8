import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SpanStatusCode } from "@opentelemetry/api";
import { OTLPTraceExporter as TraceJson } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as TraceProto } from "@opentelemetry/exporter-trace-otlp-proto";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { expect, it } from "vitest";
import { readRecords } from "../../src/plugin.js";
import { startAgentProcess } from "../support/agent-process.js";
import { startSink } from "../support/otlp-sink.js";

it.each([
  ["protobuf", TraceProto],
  ["JSON", TraceJson],
] as const)(
  "lets an SDK with its defaults export over %s while traces wait half a minute for their decision",
  async (_, TraceExporter) => {
    const sink = await startSink();
    const folder = mkdtempSync(join(tmpdir(), "sluice-tail-"));
    const yaml = `
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:0"}}}}
processors:
  tail_sampling: {policies: [{name: errors, type: status_code, status_code: {status_codes: [ERROR]}}]}
exporters: {otlp_http: {endpoint: "${sink.url}"}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {traces: {receivers: [otlp], processors: [tail_sampling], exporters: [otlp_http]}}
`;
    const start = (config: string) => startAgentProcess({ yaml: config }, { cwd: folder });
    const { child, ports, exited, output } = await start(yaml);
    const exporter = new TraceExporter({ url: `http://127.0.0.1:${ports.http}/v1/traces` });
    const provider = new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] });
    const tracer = provider.getTracer("checkout");
    for (let i = 0; i < 2000; i++) {
      const span = tracer.startSpan(`order ${i}`);
      if (i % 2 === 0) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    }
    await provider.shutdown(); // rejects when an export has failed
    expect(sink.count).toBe(0);
    child.kill("SIGTERM"); // what waits is decided then
    expect(await exited).toBe(0);
    expect(output.stderr).not.toMatch(/clients/);
    const names = () => {
      const found = new Set<string>();
      for (const batch of sink.batches)
        readRecords(batch, (record) => void (record.signal === "traces" && found.add(record.name)));
      return found;
    };
    // The next agent sends the data that is still on disk when this one ends.
    const next = await start(yaml.replace("tail_sampling: {", "tail_sampling: {decision_wait: 100ms, "));
    await expect.poll(() => names().size).toBe(1000);
    next.child.kill("SIGTERM");
    await next.exited;
    expect(names()).toEqual(new Set(Array.from({ length: 1000 }, (_, i) => `order ${2 * i}`)));
    await sink.close();
    rmSync(folder, { recursive: true, force: true });
  },
);
