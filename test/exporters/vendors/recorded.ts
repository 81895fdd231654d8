import { gunzipSync } from "node:zlib";
import { onTestFinished } from "vitest";
import { type Batch, batchFromJson, type Exporter, type ExporterFactory } from "../../../src/plugin.js";
import { silentLogger } from "../../../src/runtime/contract/observability.js";
import { MetricRegistry } from "../../../src/runtime/host/self-telemetry/metric-registry.js";
import { type Sink, startExporter, startSink } from "../harness.js";

const value = (each: unknown): object => {
  if (typeof each === "string") return { stringValue: each };
  if (typeof each === "boolean") return { boolValue: each };
  if (typeof each === "number") return Number.isInteger(each) ? { intValue: each } : { doubleValue: each };
  if (Array.isArray(each)) return { arrayValue: { values: each.map(value) } };
  return { kvlistValue: { values: attributes(each as object) } };
};

/** Attributes of OTLP/JSON from a plain object. */
export const attributes = (map: object) => Object.entries(map).map(([key, each]) => ({ key, value: value(each) }));

export const TIME = "1700000000123456789";

interface TestRecord {
  readonly attributes?: object;
  readonly [field: string]: unknown;
}

export function logs(resource: object, ...records: TestRecord[]): Batch {
  return scopedLogs(resource, {}, ...records);
}

export function scopedLogs(resource: object, scope: object, ...records: TestRecord[]): Batch {
  const logRecords = records.map(({ attributes: own = {}, ...rest }) => ({
    timeUnixNano: TIME,
    body: { stringValue: "hello" },
    attributes: attributes(own),
    ...rest,
  }));
  return batchFromJson(
    "logs",
    JSON.stringify({
      resourceLogs: [{ resource: { attributes: attributes(resource) }, scopeLogs: [{ scope, logRecords }] }],
    }),
  );
}

export function spans(resource: object, ...records: TestRecord[]): Batch {
  const list = records.map(({ attributes: own = {}, ...rest }) => ({
    traceId: "5b8efff798038103d269b633813fc60c",
    spanId: "eee19b7ec3c1b174",
    name: "GET /cart",
    kind: 2,
    startTimeUnixNano: TIME,
    endTimeUnixNano: "1700000000623456789",
    attributes: attributes(own),
    ...rest,
  }));
  return batchFromJson(
    "traces",
    JSON.stringify({
      resourceSpans: [{ resource: { attributes: attributes(resource) }, scopeSpans: [{ spans: list }] }],
    }),
  );
}

export function metrics(resource: object, ...list: object[]): Batch {
  return batchFromJson(
    "metrics",
    JSON.stringify({
      resourceMetrics: [
        { resource: { attributes: attributes(resource) }, scopeMetrics: [{ scope: { name: "meter" }, metrics: list }] },
      ],
    }),
  );
}

/** A point of a gauge or sum. */
export const point = (number: number, more: object = {}) => ({
  timeUnixNano: TIME,
  startTimeUnixNano: "1600000000000000000",
  asDouble: number,
  ...more,
});

/** An exporter in front of a server that records requests. */
export async function recorded(
  factory: ExporterFactory,
  configOf: (url: string) => object,
): Promise<{
  readonly sink: Sink;
  readonly exporter: Exporter;
  readonly bodies: () => string[];
  /** How many points were skipped for a reason. */
  readonly skipped: (reason: string) => number;
}> {
  const sink = await startSink();
  onTestFinished(() => sink.close());
  const registry = new MetricRegistry();
  const config = configOf(`http://127.0.0.1:${sink.port}`);
  const exporter = await startExporter(factory, config, undefined, silentLogger, registry);
  onTestFinished(() => exporter.stop!());
  const bodies = () =>
    sink.requests.map(({ body, headers }) =>
      (headers["content-encoding"] === "gzip" ? gunzipSync(body) : body).toString("utf8"),
    );
  const skipped = (reason: string) =>
    registry.read("sluice_exporter_skipped_points", { exporter: factory.type, reason }) ?? 0;
  return { sink, exporter, bodies, skipped };
}
