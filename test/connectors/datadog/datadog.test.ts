import { expect, it } from "vitest";
import { datadogConnector } from "../../../src/connectors/datadog/component.js";
import type { Logger } from "../../../src/plugin.js";
import { silentLogger } from "../../../src/runtime/contract/observability.js";
import { span, spansOfService } from "../spans/support.js";
import { problemsOf, through } from "../support.js";

const batch = () => spansOfService("shop", [span("buy", 5), span("sell", 5)]);

it("passes traces on unchanged", () => {
  const { out } = through(datadogConnector, {}, batch(), { to: "traces" });
  expect(out.map((delivery) => delivery.batch.bytes)).toEqual([batch().bytes]);
});

it("gives pipelines of metrics nothing, accepts their traces, and says so once", () => {
  const warnings: string[] = [];
  const logger: Logger = { ...silentLogger, warn: (_, message) => warnings.push(String(message)) };
  const { out, outcomes } = through(datadogConnector, { traces: {} }, batch(), { to: "metrics", logger });
  expect(out).toEqual([]);
  expect(outcomes).toEqual([expect.objectContaining({ ok: true })]);
  expect(warnings).toEqual([expect.stringContaining("makes no metrics")]);
});

it("loads the shape that Datadog's guide gives, and says which keys do nothing", () => {
  const problems = problemsOf(`
receivers:
  otlp: { protocols: { http: } }
connectors:
  datadog/connector:
    traces: { compute_stats_by_span_kind: true, span_name_as_resource_name: true }
exporters:
  datadog: { api: { key: k } }
service:
  pipelines:
    traces: { receivers: [otlp], exporters: [datadog/connector] }
    traces/2: { receivers: [datadog/connector], exporters: [datadog] }
    metrics: { receivers: [datadog/connector, otlp], exporters: [datadog] }
`);
  expect(problems).toEqual([
    expect.stringMatching(/compute_stats_by_span_kind: .*Datadog computes trace metrics/),
    expect.stringMatching(/span_name_as_resource_name: .*exporter datadog/),
  ]);
});
