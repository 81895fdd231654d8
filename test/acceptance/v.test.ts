import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { batchFromJson } from "../../src/plugin.js";
import type { OtlpSink } from "../support/otlp-sink.js";
import { type LogInput, logBatch, spanBatch } from "../support/sampled.js";
import { temporaryFolder } from "../support/temporary-folder.js";
import { row } from "./row.js";
import { startBackendSink, startPipelines } from "./support/parallel-pipelines.js";
import { namesIn, recordsIn, startAgent } from "./support/started-agent.js";

/** Name and attributes of everything that a backend has. */
const seen = (sink: Pick<OtlpSink, "batches">) =>
  recordsIn(sink, ({ name, attributes }) => [name, attributes.toObject()]);

row(
  "V1",
  "reads the version from event.version, else from the name, and passes the plain name on",
  "Version from an attribute (event.version), else a name suffix (order.paid.v2, OrderPaidV2), else 1; downstream sees the plain name, and the version when it is > 1.",
  async () => {
    const { send } = await startPipelines("logs", { versioning: {} });
    const records: LogInput[] = [
      { event: "order.paid" },
      { event: "order.paid.v2" },
      { event: "OrderPaidV2" },
      { event: "order.paid", attributes: { "event.version": 3 } },
      { event: "order.paid", attributes: { "event.version": "v4" } },
      { event: "order.paid.v2", attributes: { "event.version": 5 } },
      { event: "order.paid.v1" },
    ];
    expect(seen(await send("versioning", logBatch(records)))).toEqual([
      ["order.paid", {}],
      ["order.paid", { "event.version": 2 }],
      ["OrderPaid", { "event.version": 2 }],
      ["order.paid", { "event.version": 3 }],
      ["order.paid", { "event.version": "v4" }],
      ["order.paid", { "event.version": 5 }],
      ["order.paid", {}],
    ]);
  },
);

const UPCASTS = [
  { from: 1, to: 2, rename: { sum: "amount" }, convert: { amount: "double" }, set: { currency: "EUR" } },
  { from: 2, to: 3, remove: ["legacy.id"], rename: { user: "customer.id" } },
];

row(
  "V2",
  "brings events to the current version step by step, by the YAML",
  "Upcasters declared in YAML (rename, set, remove, convert)",
  async () => {
    const events = { "order.paid": { current: 3, upcasts: UPCASTS } };
    const { send, agent } = await startPipelines("logs", { versioning: { events } });
    const records = [
      { event: "order.paid", attributes: { sum: "12.50", user: "u-17", "legacy.id": 7 } },
      { event: "order.paid.v2", attributes: { amount: 5.5, user: "u-18" } },
      { event: "order.paid.v3", attributes: { amount: 6.5, "customer.id": "u-19" } },
    ];
    expect(seen(await send("versioning", logBatch(records)))).toEqual([
      ["order.paid", { amount: 12.5, currency: "EUR", "customer.id": "u-17", "event.version": 3 }],
      ["order.paid", { amount: 5.5, "customer.id": "u-18", "event.version": 3 }],
      ["order.paid", { amount: 6.5, "customer.id": "u-19", "event.version": 3 }],
    ]);
    const deprecated = (version: string) =>
      agent.metric("sluice_versioning_deprecated_items_total", { event: "order.paid", version });
    expect([await deprecated("1"), await deprecated("2"), await deprecated("3")]).toEqual([1, 1, 0]);
  },
);

/** A package beside the config, as `npm install` would leave it. */
const PLUGIN = `
export { plugin as default };
import { defineVersioning } from "sluice/plugin";
const plugin = defineVersioning({
  type: "shop_versioning",
  summary: "Versioning with the upcasters of the shop.",
  upcasters: {
    split_name(event) {
      const [first, last] = String(event.attributes.get("name")).split(" ");
      if (last === undefined) throw new Error("no last name");
      event.attributes.delete("name");
      event.attributes.set("name.first", first).set("name.last", last);
    },
  },
});
`;

row(
  "V2",
  "upcasts in a plugin, and passes, keeps or drops versions that it does not know",
  "or in a plugin, chained 1->2->3 to the current version; unknown or newer versions: pass, dead_letter or drop; deprecated versions counted.",
  async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "shop.mjs"), PLUGIN);
    const signup = {
      current: 3,
      upcasts: [
        { from: 1, to: 2, use: "split_name" },
        { from: 2, to: 3, set: { plan: "free" } },
      ],
    };
    const ways = ["pass", "dead_letter", "drop"];
    const sink = await startBackendSink();
    const section = (make: (way: string) => [string, object]) => JSON.stringify(Object.fromEntries(ways.map(make)));
    const agent = await startAgent(`
plugins: ["${join(folder, "shop.mjs")}"]
receivers: ${section((way) => [`otlp/${way}`, { protocols: { http: { endpoint: "127.0.0.1:0" } } }])}
processors: ${section((way) => [`shop_versioning/${way}`, { unknown: way, events: { signup } }])}
exporters: {otlp_http: {endpoint: "${sink.url}"}}
service:
  pipelines: ${section((way) => [`logs/${way}`, { receivers: [`otlp/${way}`], processors: [`shop_versioning/${way}`], exporters: ["otlp_http"] }])}
`);
    const dead = async () =>
      (
        await agent.api<{ entries: { failure: { reason: string; category: string; names: string[] } }[] }>(
          "/dead-letters",
        )
      ).entries.map(({ failure }) => [failure.reason, failure.category, failure.names]);
    const [good, newer, broken] = [
      { event: "signup", attributes: { name: "Ann Lee" } },
      { event: "signup.v9", attributes: { way: "newer" } },
      { event: "signup", attributes: { name: "Ann" } },
    ];
    for (const way of ways) {
      expect((await agent.send(logBatch([good, newer, broken]), { receiver: `otlp/${way}` })).status).toBe(200);
    }
    const upcast = ["signup", { "name.first": "Ann", "name.last": "Lee", plan: "free", "event.version": 3 }];
    await expect.poll(() => sink.count).toBe(5);
    expect(seen(sink).filter(([, attributes]) => Object.hasOwn(attributes as object, "plan"))).toEqual([
      upcast,
      upcast,
      upcast,
    ]);
    expect(seen(sink)).toContainEqual(["signup", { way: "newer", "event.version": 9 }]);
    expect(seen(sink)).toContainEqual(["signup", { name: "Ann" }]);
    expect(await dead()).toEqual([["rejected", "schema", expect.arrayContaining(["signup.v9", "signup"])]]);
    expect(await agent.metric("sluice_versioning_unknown_items_total", { unknown: "drop" })).toBe(1);
    expect(await agent.metric("sluice_versioning_failed_items_total")).toBe(3);
  },
);

const SCHEMA = `
file_format: 1.1.0
schema_url: https://example.com/schemas/1.3.0
versions:
  1.3.0:
    all: {changes: [{rename_attributes: {attribute_map: {user.name: user.full_name}}}]}
    metrics: {changes: [{rename_metrics: {cpu.usage: cpu.used}}]}
  1.2.0:
    all: {changes: [{rename_attributes: {attribute_map: {user: user.name}}}]}
  1.1.0:
`;

row(
  "V3",
  "translates attribute names between schema versions, up and down, from a schema file",
  "The OpenTelemetry schema_url: translate attribute names between schema versions from a schema file.",
  async () => {
    const file = join(temporaryFolder(), "schema.yaml");
    writeFileSync(file, SCHEMA);
    const url = (version: string) => `https://example.com/schemas/${version}`;
    const configs = {
      "versioning/up": { schemas: [file] },
      "versioning/down": { schemas: [file], target: url("1.1.0") },
    };
    const { send } = await startPipelines("logs", configs);
    const attributes = (key: string) => [{ key, value: { stringValue: "anna" } }];
    const batch = (version: string, key: string) =>
      batchFromJson(
        "logs",
        JSON.stringify({
          resourceLogs: [
            {
              resource: { attributes: attributes(key) },
              schemaUrl: url(version),
              scopeLogs: [{ logRecords: [{ attributes: attributes(key) }] }],
            },
          ],
        }),
      );
    const translated = async (id: string, version: string, key: string) => {
      const sink = await send(id, batch(version, key));
      return recordsIn({ batches: sink.batches.slice(-1) }, (one) => [
        one.resource.schemaUrl,
        Object.keys(one.resource.attributes.toObject()),
        Object.keys(one.attributes.toObject()),
      ])[0];
    };
    expect(await translated("versioning/up", "1.1.0", "user")).toEqual([
      url("1.3.0"),
      ["user.full_name"],
      ["user.full_name"],
    ]);
    expect(await translated("versioning/up", "1.2.0", "user.name")).toEqual([
      url("1.3.0"),
      ["user.full_name"],
      ["user.full_name"],
    ]);
    expect(await translated("versioning/down", "1.3.0", "user.full_name")).toEqual([url("1.1.0"), ["user"], ["user"]]);
    expect(await translated("versioning/up", "9.0.0", "user")).toEqual([url("9.0.0"), ["user"], ["user"]]);
  },
);

row("V4", "upcasts what is replayed, with the config of the replay", "Works on replay (P4).", async () => {
  const sink = await startBackendSink();
  sink.respond((_, response) => response.writeHead(400).end("schema 1 is not taken any more"));
  const yaml = (upcasts: object[]) => `
processors: {versioning: ${JSON.stringify({ events: { "order.paid": { current: upcasts.length + 1, upcasts } } })}}
exporters: {otlp_http: {endpoint: "${sink.url}"}}
service:
  pipelines:
    logs: {receivers: [otlp], processors: [versioning], exporters: [otlp_http]}
    traces: {receivers: [otlp], exporters: [otlp_http]}
`;
  const before = await startAgent(yaml([]));
  await before.send(logBatch([{ event: "order.paid", attributes: { sum: "12.50", user: "u-17" } }]));
  await expect.poll(() => before.api("/dead-letters")).toMatchObject({ entries: [{ exporter: "otlp_http" }] });
  await before.stop();
  sink.respond(undefined);

  const after = await startAgent(yaml(UPCASTS), { directory: before.directory });
  // What the agent sends anew is not affected by the replay.
  await after.send(spanBatch([{ trace: "5b8efff798038103d269b633813fc60c", name: "pay" }]));
  await after.sluice("dlq", "replay", "--all", "--by", "ann", "--wait");
  expect(namesIn(sink).sort()).toEqual(["order.paid", "pay"]);
  expect(seen(sink)).toContainEqual([
    "order.paid",
    { amount: 12.5, currency: "EUR", "customer.id": "u-17", "event.version": 3 },
  ]);
  expect(await after.api("/dead-letters")).toMatchObject({ entries: [] });
});
