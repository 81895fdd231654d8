import { describe, expect, it, onTestFinished } from "vitest";
import { openSearchExporter } from "../../../src/exporters/bulk/opensearch/component.js";
import { refusalOf, startExporter } from "../harness.js";
import { never } from "../support.js";
import { startBulkServer } from "./bulk-server.js";
import { attributes, logsOf, spansOf } from "./records.js";

async function start(config: object = {}) {
  const bulk = await startBulkServer();
  onTestFinished(() => bulk.close());
  const exporter = await startExporter(openSearchExporter, { http: { endpoint: bulk.url }, ...config });
  onTestFinished(() => exporter.stop!());
  return { ...bulk, exporter };
}

describe("the opensearch exporter", () => {
  it("stores log records and spans by the Simple Schema for Observability", async () => {
    const server = await start({ dataset: "shop" });
    await server.exporter.send(logsOf({ body: { stringValue: "hello" }, attributes: { user: "u" } }), never);
    await server.exporter.send(spansOf({ events: [{ name: "e", timeUnixNano: "1700000000000000005" }] }), never);
    const [log, span] = server.stored;
    expect(log).toMatchObject({
      action: "create",
      target: { _index: "ss4o_logs-shop-namespace" },
      source: {
        "@timestamp": "2023-11-14T22:13:20.000000001Z",
        attributes: { user: "u", data_stream: { dataset: "shop", namespace: "namespace", type: "record" } },
        body: "hello",
        severity: { text: "INFO", number: 9 },
        resource: { "service.name": "cart", "k8s.pod.name": "p1" },
        instrumentationScope: { name: "lib", version: "1" },
        traceId: "0102030405060708090a0b0c0d0e0f10",
      },
    });
    expect(span).toMatchObject({
      target: { _index: "ss4o_traces-shop-namespace" },
      source: { name: "GET /", kind: "Server", status: { code: "Error", message: "no" }, events: [{ name: "e" }] },
    });
  });

  it("names an index by attributes and date, and rejects names that point elsewhere", async () => {
    const server = await start({
      logs_index: "app-%{service.name}-%{team}",
      logs_index_fallback: "none",
      logs_index_time_format: "yyyy.MM",
      bulk_action: "index",
    });
    await server.exporter.send(logsOf({ attributes: { team: "a" } }, { attributes: { team: "../x" } }, {}), never);
    const date = new Date().toISOString().slice(0, 7).replace("-", ".");
    expect(server.stored.map(({ action, target }) => [action, target["_index"]])).toEqual([
      ["index", `app-cart-a-${date}`],
      ["index", `app-cart-none-${date}`],
      ["index", `app-cart-none-${date}`],
    ]);
  });

  it("stores the documents of the other mapping modes", async () => {
    const flat = await start({ mapping: { mode: "flatten_attributes", timestamp_field: "at", unix_timestamp: true } });
    await flat.exporter.send(logsOf({ body: { stringValue: "hello" }, attributes: { user: "u" } }), never);
    expect(flat.stored[0]!.source).toMatchObject({
      at: 1700000000000,
      user: "u",
      "service.name": "cart",
      Body: "hello",
    });
    const ecs = await start({ mapping: { mode: "ecs" } });
    await ecs.exporter.send(logsOf({ attributes: { user: "u" } }), never);
    expect(ecs.stored[0]!.source).toMatchObject({ "Attributes.user": "u", "Attributes.service.name": "cart" });
    const bodymap = await start({ mapping: { mode: "bodymap" } });
    await bodymap.exporter.send(logsOf({ body: { kvlistValue: { values: attributes({ x: "y" }) } } }), never);
    expect(bodymap.stored[0]!.source).toEqual({ x: "y" });
    const refusal = await refusalOf(bodymap.exporter.send(logsOf({ body: { stringValue: "no" } }), never));
    expect(refusal).toMatchObject({ kind: "permanent", category: "schema" });
  });
});
