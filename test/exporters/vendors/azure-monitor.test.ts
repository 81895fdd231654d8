import { describe, expect, it } from "vitest";
import { azureMonitorExporter } from "../../../src/exporters/vendors/azuremonitor/component.js";
import { never, refusalOf } from "../harness.js";
import { attributes, logs, metrics, point, recorded, spans } from "./recorded.js";

const start = (more: object = {}) =>
  recorded(azureMonitorExporter, (url) => ({
    connection_string: `InstrumentationKey=k1;IngestionEndpoint=${url}/`,
    ...more,
  }));
const envelopesIn = (body: string) => body.split("\n").map((line) => JSON.parse(line) as Record<string, unknown>);
const RESOURCE = { "service.name": "cart", "service.namespace": "shop" };
const TAGS = { "ai.internal.sdkVersion": "sluice:1", "ai.cloud.role": "shop.cart" };

describe("the azuremonitor exporter", () => {
  it("sends logs as messages, and those with exceptions as exceptions", async () => {
    const { sink, exporter, bodies } = await start();
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
      time: "2023-11-14T22:13:20.123456Z",
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
        baseData: { ver: 2, metrics: [{ name: "temp", value: 1.5, count: 1 }], properties: { room: "a" } },
      },
      { baseType: "MetricData", baseData: { ver: 2, metrics: [{ name: "h", value: 12, count: 3 }], properties: {} } },
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

  it.each([{}, { connection_string: "abc" }])(
    "holds the queue without a valid connection string: %j",
    async (config) => {
      const { exporter } = await recorded(azureMonitorExporter, () => config);
      expect(await refusalOf(exporter.send(logs({}, {}), never))).toMatchObject({ category: "integration" });
    },
  );
});
