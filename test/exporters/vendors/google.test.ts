import { createVerify, generateKeyPairSync } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { googleCloudExporter } from "../../../src/exporters/vendors/googlecloud/component.js";
import { googleManagedPrometheusExporter } from "../../../src/exporters/vendors/googlemanagedprometheus/component.js";
import { batchFromJson, type ExporterFactory } from "../../../src/plugin.js";
import { useEnvironment } from "../../../src/runtime/system/environment.js";
import { never, refusalOf, startSink } from "../harness.js";
import { temporaryDirectory } from "../support.js";
import { attributes, logs, metrics, point, recorded, scopedLogs, spans } from "./recorded.js";

const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });

/** An exporter in front of a server for its requests, with an account whose tokens another server gives out. */
async function start(factory: ExporterFactory, more: object = {}, credentials: object = {}) {
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
    ...credentials,
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
    const labels = { "service.name": "cart", "service.instance.id": "i1" };
    const monitored = {
      type: "generic_task",
      labels: { location: "europe-west1", namespace: "", job: "cart", task_id: "i1" },
    };
    expect(JSON.parse(bodies()[0]!)).toEqual({
      logName: "projects/p1/logs/opentelemetry",
      resource: monitored,
      entries: [
        {
          logName: "projects/p1/logs/a%20b",
          timestamp: "2023-11-14T22:13:20.123456789Z",
          severity: "WARNING",
          textPayload: "hello",
          labels: { ...labels, "user.id": "u" },
          trace: "projects/p1/traces/5b8efff798038103d269b633813fc60c",
          spanId: "eee19b7ec3c1b174",
          traceSampled: true,
        },
        {
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

  it("takes Google's fields of an entry from attributes, and its severity from a text", async () => {
    const { exporter, bodies } = await start(googleCloudExporter);
    const request = {
      requestMethod: "GET",
      status: "200",
      responseSize: 12,
      latency: "0.5s",
      cacheHit: true,
      other: 1,
    };
    const location = { file: "a.ts", line: "7", function: "f" };
    await exporter.send(
      scopedLogs(
        {},
        { name: "lib", version: "1.2" },
        {
          severityText: "Warning",
          eventName: "login",
          attributes: {
            n: 3,
            "gcp.http_request": request,
            "gcp.source_location": JSON.stringify(location),
            "gcp.trace_sampled": true,
          },
        },
      ),
      never,
    );
    const { entries } = JSON.parse(bodies()[0]!) as { entries: object[] };
    expect(entries[0]).toMatchObject({
      severity: "WARNING",
      httpRequest: { requestMethod: "GET", status: 200, responseSize: "12", latency: "0.5s", cacheHit: true },
      sourceLocation: location,
      traceSampled: true,
    });
    expect(entries[0]).toHaveProperty("labels", {
      instrumentation_source: "lib",
      instrumentation_version: "1.2",
      n: "3",
      "event.name": "login",
    });
  });

  it("gives entries of another resource their own", async () => {
    const { exporter, bodies } = await start(googleCloudExporter);
    const resourceLogs = ["a", "a", "b"].map((host) => ({
      resource: { attributes: attributes({ "host.id": host }) },
      scopeLogs: [{ logRecords: [{ timeUnixNano: "1", body: { stringValue: host } }] }],
    }));
    await exporter.send(batchFromJson("logs", JSON.stringify({ resourceLogs })), never);
    const { resource, entries } = JSON.parse(bodies()[0]!) as { resource: object; entries: { resource?: object }[] };
    expect(resource).toMatchObject({ labels: { node_id: "a" } });
    expect(entries.map((entry) => entry.resource)).toMatchObject([undefined, undefined, { labels: { node_id: "b" } }]);
  });

  it("writes each label once, though an attribute repeats", async () => {
    const { exporter, bodies } = await start(googleCloudExporter);
    const record = { ...{ timeUnixNano: "1", body: { stringValue: "x" } }, attributes: [] as object[] };
    for (const stringValue of ["a", "b"]) record.attributes.push({ key: "k", value: { stringValue } });
    const resourceLogs = [{ scopeLogs: [{ logRecords: [record] }] }];
    await exporter.send(batchFromJson("logs", JSON.stringify({ resourceLogs })), never);
    expect(bodies()[0]!.match(/"k":/g)).toHaveLength(1);
  });

  it("sends entries again whose error is transient, and keeps those that were refused for good", async () => {
    const { sink, exporter } = await start(googleCloudExporter);
    const details = [{ logEntryErrors: { "1": { code: 14, message: "later" } } }];
    sink.respond = (response) => response.writeHead(503).end(JSON.stringify({ error: { code: 503, details } }));
    const refusal = await refusalOf(exporter.send(logs({}, {}, {}, {}), never));
    expect([...refusal.undelivered!.marks]).toEqual([0, 1, 0]);
    expect(refusal.kind).toBe("transient");
  });

  /** The error of timeSeries.create for some of the series of a request. */
  const seriesError = (message: string, total: number, success: number) =>
    JSON.stringify({
      error: {
        code: 400,
        message: `One or more TimeSeries could not be written: ${message}`,
        details: [
          {
            "@type": "type.googleapis.com/google.monitoring.v3.CreateTimeSeriesSummary",
            totalPointCount: total,
            ...(success > 0 && { successPointCount: success }),
          },
        ],
      },
    });
  const gauges = (count: number) =>
    metrics({}, ...Array.from({ length: count }, (_, i) => ({ name: `g${i}`, gauge: { dataPoints: [point(i)] } })));

  it("keeps only the series that were refused", async () => {
    const { sink, exporter } = await start(googleCloudExporter);
    const message = "Field timeSeries[3].points[0] had an invalid value: bad.: timeSeries[0-1,3]";
    sink.respond = (response) => response.writeHead(400).end(seriesError(message, 5, 2));
    const refusal = await refusalOf(exporter.send(gauges(5), never));
    expect([...refusal.undelivered!.marks].map((mark) => mark > 0)).toEqual([true, true, false, true, false]);
  });

  it.each([
    ["names fewer series than were refused", seriesError("bad: timeSeries[0]", 5, 3)],
    ["has no summary", JSON.stringify({ error: { message: "bad: timeSeries[0]" } })],
    ["is not JSON", "no"],
  ])("counts no series as written if the error %s", async (_, body) => {
    const { sink, exporter } = await start(googleCloudExporter);
    sink.respond = (response) => response.writeHead(400).end(body);
    const refusal = await refusalOf(exporter.send(gauges(5), never));
    expect(refusal).toMatchObject({ kind: "permanent", undelivered: undefined });
  });

  it("sends the whole request again if the error names series that are not in it", async () => {
    const { sink, exporter } = await start(googleCloudExporter);
    sink.respond = (response) => response.writeHead(400).end(seriesError("bad: timeSeries[7]", 5, 4));
    const refusal = await refusalOf(exporter.send(gauges(5), never));
    expect(refusal).toMatchObject({ kind: "transient", undelivered: undefined });
  });

  it("keeps points that come too late apart from malformed ones", async () => {
    const { sink, exporter } = await start(googleCloudExporter);
    const message = "Points must be written in order.: timeSeries[0]";
    sink.respond = (response) => response.writeHead(400).end(seriesError(message, 1, 0));
    expect(await refusalOf(exporter.send(gauges(1), never))).toMatchObject({ category: "business" });
  });

  it("sends deltas as cumulative values that begin anew, and refuses those without a start", async () => {
    const { exporter, bodies } = await start(googleCloudExporter);
    const sum = { aggregationTemporality: 1, isMonotonic: true, dataPoints: [point(1)] };
    await exporter.send(metrics({}, { name: "d", sum }), never);
    const { timeSeries } = JSON.parse(bodies()[0]!) as { timeSeries: object[] };
    expect(timeSeries).toMatchObject([
      {
        metricKind: "CUMULATIVE",
        points: [{ interval: { startTime: "2020-09-13T12:26:40.001Z", endTime: "2023-11-14T22:13:20.123Z" } }],
      },
    ]);
    const startless = { ...sum, dataPoints: [point(1, { startTimeUnixNano: "0" })] };
    const refusal = await refusalOf(exporter.send(metrics({}, { name: "d", sum: startless }), never));
    expect(refusal).toMatchObject({ kind: "permanent", category: "schema" });
    expect(refusal.message).toContain("delta_to_cumulative");
  });

  it("counts points that it cannot send: first ones without a start, NaN, histograms without buckets", async () => {
    const { exporter, bodies, skipped } = await start(googleCloudExporter);
    const startless = { startTimeUnixNano: "0" };
    const at = (seconds: number) => ({ ...startless, timeUnixNano: `${1_700_000_000 + seconds}000000000` });
    const counter = (...dataPoints: object[]) => ({
      name: "c",
      sum: { aggregationTemporality: 2, isMonotonic: true, dataPoints },
    });
    const histogram = { aggregationTemporality: 2, dataPoints: [{ ...at(0), count: 1, sum: 1, bucketCounts: [1] }] };
    await exporter.send(
      metrics(
        {},
        counter(point(100, at(0)), point(107, at(60)), point(4, at(120)), point(9, at(180))),
        { name: "nan", gauge: { dataPoints: [{ ...at(0), asDouble: "NaN" }] } },
        { name: "h", histogram },
      ),
      never,
    );
    const sent = bodies().flatMap((text) => (JSON.parse(text) as { timeSeries: object[] }).timeSeries);
    // The first point and the one after a reset are starts.
    expect(sent).toMatchObject([
      { points: [{ value: { doubleValue: 7 } }] },
      { points: [{ interval: { startTime: "2023-11-14T22:15:20.000Z" }, value: { doubleValue: 5 } }] },
    ]);
    expect(["no_increase", "not_finite", "no_buckets"].map(skipped)).toEqual([2, 1, 1]);
  });

  it("counts a skipped point once, though its batch is sent again", async () => {
    const { sink, exporter, skipped } = await start(googleCloudExporter);
    const batch = metrics(
      {},
      { name: "nan", gauge: { dataPoints: [{ timeUnixNano: "1", asDouble: "NaN" }] } },
      { name: "g", gauge: { dataPoints: [point(1)] } },
    );
    sink.respond = (response) => response.writeHead(503).end();
    await refusalOf(exporter.send(batch, never));
    expect(skipped("not_finite")).toBe(0);
    sink.respond = (response) => response.end("{}");
    await exporter.send(batch, never);
    expect(skipped("not_finite")).toBe(1);
  });

  it("sends exponential histograms whose buckets add up, also without a start", async () => {
    const { exporter, bodies } = await start(googleCloudExporter);
    const at = (seconds: number, counts: number[]) => ({
      timeUnixNano: `${1_700_000_000 + seconds}000000000`,
      count: counts.reduce((sum, each) => sum + each, 1),
      sum: 10 * counts.length,
      scale: 0,
      zeroCount: 1,
      positive: { offset: 2, bucketCounts: counts },
    });
    const dataPoints = [at(0, [1, 2]), at(60, [3, 5])];
    await exporter.send(
      metrics({}, { name: "e", exponentialHistogram: { aggregationTemporality: 2, dataPoints } }),
      never,
    );
    const { timeSeries } = JSON.parse(bodies()[0]!) as { timeSeries: object[] };
    expect(timeSeries).toMatchObject([
      {
        points: [
          {
            value: {
              distributionValue: {
                count: "5",
                bucketOptions: { exponentialBuckets: { numFiniteBuckets: 2, growthFactor: 2, scale: 4 } },
                bucketCounts: ["0", "2", "3", "0"],
              },
            },
          },
        ],
      },
    ]);
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
              "g.co/r/generic_node/location": { stringValue: { value: "global" } },
              "g.co/r/generic_node/namespace": { stringValue: { value: "" } },
              "g.co/r/generic_node/node_id": { stringValue: { value: "" } },
            },
          },
          spanKind: "SERVER",
          status: { code: 2, message: "bad" },
        },
      ],
    });
  });

  it("cuts long texts of spans, says how much is missing, and sends links", async () => {
    const { exporter, bodies } = await start(googleCloudExporter);
    const link = { traceId: "5b8efff798038103d269b633813fc60d", spanId: "eee19b7ec3c1b175" };
    await exporter.send(
      spans({}, { name: "ä".repeat(70), attributes: { long: "x".repeat(300), "http.method": "GET" }, links: [link] }),
      never,
    );
    const [span] = (JSON.parse(bodies()[0]!) as { spans: object[] }).spans;
    expect(span).toMatchObject({
      displayName: { value: "ä".repeat(64), truncatedByteCount: 12 },
      attributes: {
        attributeMap: {
          long: { stringValue: { value: "x".repeat(256), truncatedByteCount: 44 } },
          "/http/method": { stringValue: { value: "GET" } },
        },
      },
      links: { link: [{ ...link, type: "TYPE_UNSPECIFIED" }], droppedLinksCount: 0 },
    });
  });

  it("charges a person's requests to their quota project", async () => {
    const user = {
      ...{ type: "authorized_user", client_id: "i", client_secret: "s", refresh_token: "r" },
      quota_project_id: "paying",
    };
    const { sink, exporter } = await start(googleCloudExporter, { project: "p2" }, user);
    await exporter.send(logs({}, {}), never);
    expect(sink.requests[0]!.headers["x-goog-user-project"]).toBe("paying");
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
          metric: {
            type: "prometheus.googleapis.com/http_time_seconds_total/counter",
            labels: { otel_scope_name: "meter" },
          },
          resource: {
            type: "prometheus_target",
            labels: { location: "r", cluster: "c", namespace: "", job: "cart", instance: "i1" },
          },
          valueType: "DOUBLE",
        },
      ],
    });
  });

  it("sends summaries as three metrics of doubles, as the Collector does", async () => {
    const { exporter, bodies } = await start(googleManagedPrometheusExporter);
    const summary = {
      dataPoints: [
        {
          ...{ timeUnixNano: "1700000000000000000", startTimeUnixNano: "1600000000000000000", count: 3, sum: 6 },
          quantileValues: [{ quantile: 0.5, value: 2 }],
        },
      ],
    };
    const resource = { "service.name": "cart", "service.namespace": "shop", "cloud.platform": "gcp_compute_engine" };
    const pod = { "k8s.pod.name": "p", "k8s.container.name": "c" };
    await exporter.send(metrics({ ...resource, ...pod }, { name: "s", summary }), never);
    const { timeSeries } = JSON.parse(bodies()[0]!) as {
      timeSeries: { metric: { type: string }; valueType: string; resource: object }[];
    };
    expect(timeSeries.map(({ metric, valueType }) => `${metric.type} ${valueType}`)).toEqual([
      "prometheus.googleapis.com/s_sum/summary:counter DOUBLE",
      "prometheus.googleapis.com/s_count/summary DOUBLE",
      "prometheus.googleapis.com/s/summary DOUBLE",
    ]);
    expect(timeSeries[0]!.resource).toMatchObject({
      labels: { job: "shop/cart", instance: "p/c", cluster: "__gce__" },
    });
  });
});
