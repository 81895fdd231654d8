import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { azureMonitorExporter } from "../../../src/exporters/vendors/azuremonitor/component.js";
import type { AzureMonitorConfig } from "../../../src/exporters/vendors/azuremonitor/config.js";
import { EnvelopeWriter } from "../../../src/exporters/vendors/azuremonitor/envelopes.js";
import { recordPages } from "../../../src/exporters/vendors/record-pages.js";
import { batchFromJson } from "../../../src/plugin.js";
import { useEnvironment } from "../../../src/runtime/system/environment.js";
import { runs } from "../../support/runs.js";
import { never, refusalOf } from "../harness.js";
import { attributes, logs, metrics, point, recorded, spans, TIME } from "./recorded.js";

const start = (more: object = {}) =>
  recorded(azureMonitorExporter, (url) => ({
    connection_string: `InstrumentationKey=k1;IngestionEndpoint=${url}/`,
    ...more,
  }));
const envelopesIn = (body: string) => body.split("\n").map((line) => JSON.parse(line) as Record<string, unknown>);
const RESOURCE = { "service.name": "cart", "service.namespace": "shop" };
const TAGS = { "ai.internal.sdkVersion": "sluice:1", "ai.cloud.role": "shop.cart" };

describe("the azuremonitor exporter", () => {
  it("sends logs as messages, and those with exceptions as exceptions if told to", async () => {
    const { sink, exporter, bodies } = await start({ exception_events_enabled: true });
    const exception = { "exception.type": "TypeError", "exception.message": "no", "exception.stacktrace": "at x" };
    await exporter.send(
      logs(
        RESOURCE,
        { severityNumber: 13, traceId: "5b8efff798038103d269b633813fc60c", attributes: { n: 3 } },
        { attributes: exception },
      ),
      never,
    );
    expect(sink.requests[0]!.path).toBe("/v2.1/track");
    const [message, thrown] = envelopesIn(bodies()[0]!);
    expect(message).toEqual({
      name: "Microsoft.ApplicationInsights.Message",
      time: "2023-11-14T22:13:20.123456789Z",
      iKey: "k1",
      tags: { ...TAGS, "ai.operation.id": "5b8efff798038103d269b633813fc60c" },
      data: {
        baseType: "MessageData",
        baseData: { ver: 2, message: "hello", severityLevel: 2, properties: { ...RESOURCE, n: "3" } },
      },
    });
    expect(thrown).toMatchObject({
      name: "Microsoft.ApplicationInsights.Exception",
      data: { baseData: { exceptions: [{ typeName: "TypeError", message: "no", hasFullStack: true, stack: "at x" }] } },
    });
  });

  it("sends server spans as requests, others as dependencies, and events if told to", async () => {
    const { exporter, bodies } = await start({ spaneventsenabled: true });
    await exporter.send(
      spans(
        RESOURCE,
        {
          attributes: { "http.response.status_code": 500, "url.full": "http://x/cart" },
          status: { code: 2 },
          events: [{ name: "retry", timeUnixNano: "1700000000200000000", attributes: attributes({ n: 1 }) }],
        },
        { kind: 3, parentSpanId: "0000000000000001", attributes: { "db.system": "redis", "server.address": "r1" } },
      ),
      never,
    );
    const [request, event, dependency] = envelopesIn(bodies()[0]!);
    expect(request).toMatchObject({
      tags: { "ai.operation.id": "5b8efff798038103d269b633813fc60c", "ai.operation.name": "GET /cart" },
      data: {
        baseType: "RequestData",
        baseData: {
          ...{ id: "eee19b7ec3c1b174", name: "GET /cart", duration: "0.00:00:00.500000", success: false },
          ...{ responseCode: "500", url: "http://x/cart" },
        },
      },
    });
    expect(event).toMatchObject({
      tags: { "ai.operation.parentId": "eee19b7ec3c1b174" },
      data: { baseData: { message: "retry", properties: { n: "1" } } },
    });
    expect(dependency).toMatchObject({
      tags: { "ai.operation.parentId": "0000000000000001" },
      data: { baseType: "RemoteDependencyData", baseData: { type: "redis", target: "r1", resultCode: "0" } },
    });
  });

  it("sends points as metrics", async () => {
    const { exporter, bodies } = await start();
    const dataPoints = [{ timeUnixNano: "1700000000000000000", count: 3, sum: 12, bucketCounts: [3] }];
    await exporter.send(
      metrics(
        {},
        { name: "temp", gauge: { dataPoints: [point(1.5, { attributes: attributes({ room: "a" }) })] } },
        { name: "h", histogram: { aggregationTemporality: 1, dataPoints } },
      ),
      never,
    );
    expect(envelopesIn(bodies()[0]!).map(({ data }) => data)).toEqual([
      {
        baseType: "MetricData",
        baseData: { ver: 2, metrics: [{ name: "temp", kind: 0, value: 1.5, count: 1 }], properties: { room: "a" } },
      },
      {
        baseType: "MetricData",
        baseData: { ver: 2, metrics: [{ name: "h", kind: 1, value: 12, count: 3 }], properties: {} },
      },
    ]);
  });

  it("keeps the envelopes that were refused, each by its own status", async () => {
    const { sink, exporter } = await start();
    const errors = [
      { index: 0, statusCode: 400, message: "bad" },
      { index: 2, statusCode: 439, message: "quota" },
    ];
    sink.respond = (response) =>
      response.writeHead(206).end(JSON.stringify({ itemsReceived: 3, itemsAccepted: 1, errors }));
    const refusal = await refusalOf(exporter.send(logs({}, {}, {}, {}), never));
    const marks = [...refusal.undelivered!.marks];
    expect(marks[1]).toBe(0);
    expect(marks.filter((mark) => mark > 0)).toHaveLength(2);
  });

  it.each([
    ["206 without a list of errors", 206, "{}", { itemsReceived: 3, itemsAccepted: 2 }],
    ["206 that cannot be read", 206, "no", undefined],
    ["200 for fewer items than were sent", 200, "{}", { itemsReceived: 3, itemsAccepted: 2, errors: [] }],
    [
      "206 for an item that was not sent",
      206,
      "{}",
      { itemsReceived: 3, itemsAccepted: 2, errors: [{ index: 9, statusCode: 400 }] },
    ],
  ])("counts nothing as delivered after %s", async (_, status, text, answer) => {
    const { sink, exporter } = await start();
    sink.respond = (response) => response.writeHead(status).end(answer === undefined ? text : JSON.stringify(answer));
    const refusal = await refusalOf(exporter.send(logs({}, {}, {}, {}), never));
    expect(refusal).toMatchObject({ kind: "transient", undelivered: undefined });
  });

  it.each([402, 439])("waits while the quota is used up: HTTP %d", async (status) => {
    const { sink, exporter } = await start();
    sink.respond = (response) => response.writeHead(status, { "Retry-After": "60" }).end();
    expect(await refusalOf(exporter.send(logs({}, {}), never))).toMatchObject({
      kind: "throttled",
      retryAfterMs: 60_000,
    });
  });

  it("cuts texts to the lengths of the schema", async () => {
    const { exporter, bodies } = await start();
    const long = "x".repeat(40_000);
    await exporter.send(logs({}, { body: { stringValue: long }, attributes: { [long]: long } }), never);
    const [{ data } = expect.unreachable()] = envelopesIn(bodies()[0]!);
    const { baseData } = data as { baseData: { message: string; properties: Record<string, string> } };
    const [[key, value] = expect.unreachable()] = Object.entries(baseData.properties);
    expect([baseData.message.length, key.length, value.length]).toEqual([32_768, 150, 8192]);
  });

  it("writes the same from bytes as from objects: repeated, long, special and other values", async () => {
    const { exporter, bodies } = await start();
    const config = azureMonitorExporter.schema.parse({}) as AzureMonitorConfig;
    const writer = new EnvelopeWriter("k1", config);
    const texts = fc.oneof(fc.string(), fc.constantFrom("service.name", "a", "exception.type", "x".repeat(9000)));
    const values = fc.oneof(
      texts,
      fc.integer(),
      fc.boolean(),
      fc.double({ noNaN: true, noInteger: true, noDefaultInfinity: true }),
      fc.array(fc.string()),
    );
    const record = fc.record(
      {
        body: fc.oneof(texts, fc.integer()),
        severityNumber: fc.integer({ min: 0, max: 24 }),
        pairs: fc.array(fc.tuple(texts, values), { maxLength: 5 }),
      },
      { requiredKeys: ["body", "severityNumber", "pairs"] },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(record, { minLength: 1, maxLength: 4 }), async (records) => {
        const list = records.map(({ body, severityNumber, pairs }) => ({
          severityNumber,
          timeUnixNano: TIME,
          body: typeof body === "string" ? { stringValue: body } : { intValue: body },
          attributes: pairs.flatMap(([key, value]) => attributes({ [key]: value })),
        }));
        const resource = { attributes: attributes(RESOURCE) };
        const json = JSON.stringify({ resourceLogs: [{ resource, scopeLogs: [{ logRecords: list }] }] });
        const batch = batchFromJson("logs", json);
        await exporter.send(batch, never);
        const expected: object[] = [];
        for (const { page } of recordPages(batch.bytes, { maxRecords: 10, maxBytes: 1e9 }))
          page.each((from, to, owner) =>
            expected.push(JSON.parse(writer.log(batch.bytes, from, to, owner.resource, 0)) as object),
          );
        expect(envelopesIn(bodies().at(-1)!)).toEqual(expected);
      }),
      runs(60),
    );
  });

  it("sends records with the name of an event as custom events if told to", async () => {
    const { exporter, bodies } = await start({ custom_events_enabled: true });
    await exporter.send(logs({}, { attributes: { "microsoft.custom_event.name": "login", n: 1 } }), never);
    expect(envelopesIn(bodies()[0]!)).toMatchObject([
      {
        name: "Microsoft.ApplicationInsights.Event",
        data: { baseType: "EventData", baseData: { ver: 2, name: "login", properties: { n: "1" } } },
      },
    ]);
  });

  it("prefers the connection string of the environment, as the Collector does", async () => {
    const other = await recorded(azureMonitorExporter, () => ({}));
    useEnvironment({
      APPLICATIONINSIGHTS_CONNECTION_STRING: `InstrumentationKey=k2;IngestionEndpoint=http://127.0.0.1:${other.sink.port}`,
    });
    onTestFinished(() => useEnvironment({}));
    const { exporter } = await start();
    await exporter.send(logs({}, {}), never);
    expect(envelopesIn(other.bodies()[0]!)).toMatchObject([{ iKey: "k2" }]);
  });

  it("counts points whose value is no number", async () => {
    const { exporter, skipped } = await start();
    const dataPoints = [{ timeUnixNano: "1", asDouble: "NaN" }, point(1)];
    await exporter.send(metrics({}, { name: "g", gauge: { dataPoints } }), never);
    expect(skipped("not_finite")).toBe(1);
  });

  it("takes an HTTP status of 400 or more as a failure, and internal spans as parts of the process", async () => {
    const { exporter, bodies } = await start();
    const status = { "http.response.status_code": 404 };
    await exporter.send(spans({}, { attributes: status }, { kind: 1, attributes: { "db.system": "x" } }), never);
    expect(envelopesIn(bodies()[0]!).map(({ data }) => data)).toMatchObject([
      { baseData: { responseCode: "404", success: false } },
      { baseData: { type: "InProc", success: true } },
    ]);
  });

  it.each([{}, { connection_string: "abc" }])(
    "holds the queue without a valid connection string: %j",
    async (config) => {
      const { exporter } = await recorded(azureMonitorExporter, () => config);
      expect(await refusalOf(exporter.send(logs({}, {}), never))).toMatchObject({ category: "integration" });
    },
  );
});
