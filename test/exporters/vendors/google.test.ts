import { createVerify, generateKeyPairSync } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { googleCloudExporter } from "../../../src/exporters/vendors/googlecloud/component.js";
import { googleManagedPrometheusExporter } from "../../../src/exporters/vendors/googlemanagedprometheus/component.js";
import type { ExporterFactory } from "../../../src/plugin.js";
import { useEnvironment } from "../../../src/runtime/system/environment.js";
import { never, refusalOf, startSink } from "../harness.js";
import { temporaryDirectory } from "../support.js";
import { attributes, logs, metrics, point, recorded, spans } from "./recorded.js";

const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });

/** An exporter in front of a server for its requests, with an account whose tokens another server gives out. */
async function start(factory: ExporterFactory, more: object = {}) {
  const tokens = await startSink();
  onTestFinished(() => tokens.close());
  tokens.respond = (response) => response.end('{"access_token":"t1","expires_in":3600}');
  const file = join(await temporaryDirectory(), "account.json");
  const account = {
    type: "service_account",
    project_id: "p1",
    client_email: "agent@p1.iam.gserviceaccount.com",
    private_key: privateKey.export({ type: "pkcs8", format: "pem" }),
    token_uri: `http://127.0.0.1:${tokens.port}/token`,
  };
  await writeFile(file, JSON.stringify(account));
  useEnvironment({ GOOGLE_APPLICATION_CREDENTIALS: file });
  const endpoints = (endpoint: string) =>
    factory === googleCloudExporter
      ? { log: { endpoint }, metric: { endpoint }, trace: { endpoint } }
      : { metric: { endpoint } };
  return { tokens, ...(await recorded(factory, (url) => ({ ...endpoints(url), ...more }))) };
}

describe("the googlecloud exporter", () => {
  it("gets a token with an assertion that the account's key has signed", async () => {
    const { tokens, sink, exporter } = await start(googleCloudExporter);
    await exporter.send(logs({}, {}), never);
    await exporter.send(logs({}, {}), never);
    expect(tokens.requests).toHaveLength(1);
    const form = new URLSearchParams(tokens.requests[0]!.body.toString());
    const [head, claims, signature] = form.get("assertion")!.split(".");
    expect(JSON.parse(Buffer.from(claims!, "base64url").toString())).toMatchObject({
      iss: "agent@p1.iam.gserviceaccount.com",
      aud: `http://127.0.0.1:${tokens.port}/token`,
    });
    const verify = createVerify("RSA-SHA256").update(`${head}.${claims}`);
    expect(verify.verify(publicKey, signature!, "base64url")).toBe(true);
    expect(sink.requests[0]!.headers.authorization).toBe("Bearer t1");
  });

  it("writes logs as entries with resource, labels, severity and trace", async () => {
    const { sink, exporter, bodies } = await start(googleCloudExporter);
    const resource = { "service.name": "cart", "service.instance.id": "i1", "cloud.region": "europe-west1" };
    await exporter.send(
      logs(
        resource,
        {
          severityNumber: 13,
          traceId: "5b8efff798038103d269b633813fc60c",
          spanId: "eee19b7ec3c1b174",
          flags: 1,
          attributes: { "user.id": "u", "gcp.log_name": "a b" },
        },
        { body: { kvlistValue: { values: attributes({ a: 1 }) } } },
      ),
      never,
    );
    expect(sink.requests[0]!.path).toBe("/v2/entries:write");
    const labels = { service_name: "cart", service_instance_id: "i1" };
    const monitored = {
      type: "generic_task",
      labels: { location: "europe-west1", namespace: "", job: "cart", task_id: "i1" },
    };
    expect(JSON.parse(bodies()[0]!)).toEqual({
      entries: [
        {
          logName: "projects/p1/logs/a%20b",
          resource: monitored,
          timestamp: "2023-11-14T22:13:20.123456789Z",
          severity: "WARNING",
          textPayload: "hello",
          labels: { ...labels, "user.id": "u" },
          trace: "projects/p1/traces/5b8efff798038103d269b633813fc60c",
          spanId: "eee19b7ec3c1b174",
          traceSampled: true,
        },
        {
          logName: "projects/p1/logs/opentelemetry",
          resource: monitored,
          timestamp: "2023-11-14T22:13:20.123456789Z",
          jsonPayload: { a: 1 },
          labels,
        },
      ],
      partialSuccess: true,
    });
  });

  it("keeps only the entries that were refused", async () => {
    const { sink, exporter } = await start(googleCloudExporter);
    const details = [{ logEntryErrors: { "1": { code: 3, message: "too large" } } }];
    sink.respond = (response) => response.writeHead(400).end(JSON.stringify({ error: { code: 400, details } }));
    const refusal = await refusalOf(exporter.send(logs({}, {}, {}, {}), never));
    expect([...refusal.undelivered!.marks]).toEqual([0, 1, 0]);
    expect(refusal.message).toBe("too large");
  });

  it("writes gauges, counters and histograms as time series, each series once in a request", async () => {
    const { sink, exporter, bodies } = await start(googleCloudExporter);
    const at = (seconds: number) => ({ timeUnixNano: `${1_700_000_000 + seconds}000000000` });
    await exporter.send(
      metrics(
        { "host.name": "h" },
        { name: "temp", unit: "Cel", gauge: { dataPoints: [point(1.5, at(0)), point(2, at(60))] } },
        {
          name: "hits",
          sum: {
            aggregationTemporality: 2,
            isMonotonic: true,
            dataPoints: [{ startTimeUnixNano: "1600000000000000000", ...at(0), asInt: 7 }],
          },
        },
        {
          name: "kubernetes.io/h",
          histogram: {
            aggregationTemporality: 2,
            dataPoints: [
              {
                ...at(0),
                startTimeUnixNano: "1600000000000000000",
                count: 4,
                sum: 12,
                explicitBounds: [5],
                bucketCounts: [3, 1],
              },
            ],
          },
        },
      ),
      never,
    );
    expect(sink.requests.map(({ path }) => path)).toEqual(Array(2).fill("/v3/projects/p1/timeSeries"));
    const [first, second] = bodies().map((text) => (JSON.parse(text) as { timeSeries: object[] }).timeSeries);
    const resource = { type: "generic_node", labels: { location: "global", namespace: "", node_id: "h" } };
    expect(first).toEqual([
      {
        metric: { type: "workload.googleapis.com/temp", labels: { instrumentation_source: "meter" } },
        resource,
        metricKind: "GAUGE",
        valueType: "DOUBLE",
        unit: "Cel",
        points: [{ interval: { endTime: "2023-11-14T22:13:20.000Z" }, value: { doubleValue: 1.5 } }],
      },
    ]);
    const interval = { startTime: "2020-09-13T12:26:40.000Z", endTime: "2023-11-14T22:13:20.000Z" };
    expect(second).toMatchObject([
      { metric: { type: "workload.googleapis.com/temp" }, points: [{ value: { doubleValue: 2 } }] },
      {
        metric: { type: "workload.googleapis.com/hits" },
        metricKind: "CUMULATIVE",
        valueType: "INT64",
        points: [{ interval, value: { int64Value: "7" } }],
      },
      {
        metric: { type: "kubernetes.io/h" },
        valueType: "DISTRIBUTION",
        points: [
          {
            value: {
              distributionValue: {
                count: "4",
                mean: 3,
                bucketOptions: { explicitBuckets: { bounds: [5] } },
                bucketCounts: ["3", "1"],
              },
            },
          },
        ],
      },
    ]);
  });

  it("refuses deltas, and says what to put in front", async () => {
    const { exporter } = await start(googleCloudExporter);
    const sum = { aggregationTemporality: 1, isMonotonic: true, dataPoints: [point(1)] };
    const refusal = await refusalOf(exporter.send(metrics({}, { name: "d", sum }), never));
    expect(refusal).toMatchObject({ kind: "permanent", category: "schema" });
    expect(refusal.message).toContain("delta_to_cumulative");
  });

  it("writes spans to Cloud Trace", async () => {
    const { sink, exporter, bodies } = await start(googleCloudExporter, { project: "p2" });
    const batch = spans(
      { "service.name": "cart" },
      { attributes: { n: 3, ok: true }, status: { code: 2, message: "bad" }, parentSpanId: "0000000000000001" },
    );
    await exporter.send(batch, never);
    expect(sink.requests[0]!.path).toBe("/v2/projects/p2/traces:batchWrite");
    expect(JSON.parse(bodies()[0]!)).toEqual({
      spans: [
        {
          name: "projects/p2/traces/5b8efff798038103d269b633813fc60c/spans/eee19b7ec3c1b174",
          spanId: "eee19b7ec3c1b174",
          parentSpanId: "0000000000000001",
          displayName: { value: "GET /cart" },
          startTime: "2023-11-14T22:13:20.123456789Z",
          endTime: "2023-11-14T22:13:20.623456789Z",
          attributes: {
            attributeMap: {
              n: { intValue: "3" },
              ok: { boolValue: true },
              "service.name": { stringValue: { value: "cart" } },
            },
          },
          spanKind: "SERVER",
          status: { code: 2, message: "bad" },
        },
      ],
    });
  });

  it("holds the queue while there are no credentials", async () => {
    const { tokens, sink, exporter } = await start(googleCloudExporter);
    tokens.respond = (response) => response.writeHead(400).end('{"error":"invalid_grant"}');
    expect(await refusalOf(exporter.send(logs({}, {}), never))).toMatchObject({
      kind: "permanent",
      category: "integration",
    });
    expect(sink.requests).toHaveLength(0);
  });
});

describe("the googlemanagedprometheus exporter", () => {
  it("sends metrics under Prometheus's names, for the target they are from", async () => {
    const { exporter, bodies } = await start(googleManagedPrometheusExporter);
    const sum = { aggregationTemporality: 2, isMonotonic: true, dataPoints: [point(7)] };
    const resource = {
      "service.name": "cart",
      "service.instance.id": "i1",
      "k8s.cluster.name": "c",
      "cloud.region": "r",
    };
    await exporter.send(metrics(resource, { name: "http.time", unit: "s", sum }), never);
    expect(JSON.parse(bodies()[0]!)).toMatchObject({
      timeSeries: [
        {
          metric: { type: "prometheus.googleapis.com/http_time_seconds_total/counter", labels: {} },
          resource: {
            type: "prometheus_target",
            labels: { location: "r", cluster: "c", namespace: "", job: "cart", instance: "i1" },
          },
          valueType: "DOUBLE",
        },
      ],
    });
  });
});
