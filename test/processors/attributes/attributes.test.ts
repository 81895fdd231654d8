import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  asDouble,
  Batch,
  batchFromJson,
  editRecords,
  encodeTree,
  type Origin,
  type ProcessorContext,
  type ProcessorFactory,
  readRecords,
  type Value,
} from "../../../src/plugin.js";
import { actionSchema, createAction } from "../../../src/processors/attributes/actions.js";
import { attributesProcessor, resourceProcessor } from "../../../src/processors/attributes/component.js";
import { Registry } from "../../../src/runtime/config/resolve/registry.js";
import { systemClock } from "../../../src/runtime/contract/clock.js";
import { noMetrics, silentLogger } from "../../../src/runtime/contract/observability.js";
import { loadText } from "../../runtime/config/load-text.js";
import { builtins } from "../../support/builtins.js";
import { feed, owed } from "../../support/deliveries.js";
import { runs } from "../../support/runs.js";
import { anyRequest } from "../../support/telemetry/telemetry-arbitraries.js";
import { rewritten } from "../../support/telemetry/wire-forms.js";

const context: ProcessorContext = {
  id: "p",
  kind: "processor",
  signal: "logs",
  pipeline: "logs",
  logger: silentLogger,
  metrics: noMetrics,
  clock: systemClock,
  random: Math.random,
};

const request = {
  resourceLogs: [
    {
      resource: { attributes: [{ key: "service.name", value: { stringValue: "shop" } }] },
      scopeLogs: [
        {
          scope: { name: "lib", version: "1" },
          logRecords: [
            {
              severityNumber: 9,
              severityText: "INFO",
              body: { stringValue: "hello" },
              attributes: [
                { key: "user", value: { stringValue: "anna" } },
                { key: "path", value: { stringValue: "/api/v1/items/42" } },
                { key: "count", value: { stringValue: "12" } },
              ],
            },
          ],
        },
      ],
    },
  ],
};
const batch = batchFromJson("logs", JSON.stringify(request));

function run(factory: ProcessorFactory, config: object, origin: Partial<Origin> = {}, input = batch): Batch {
  const { source, out } = feed(factory.create(factory.schema.parse(config), context));
  source.next(owed(input, origin).delivery);
  return out[0]!.batch;
}

function attributesOf(result: Batch): Record<string, unknown> {
  let found: Record<string, unknown> = {};
  readRecords(result, (record) => {
    found = { ...record.attributes.toObject() };
  });
  return found;
}

const act = (action: object, origin?: Partial<Origin>) =>
  attributesOf(run(attributesProcessor, { actions: [action] }, origin));

describe("the attributes processor", () => {
  const before = { user: "anna", path: "/api/v1/items/42", count: "12" };

  it.each([
    ["inserts what is not there", { action: "insert", key: "env", value: "prod" }, { ...before, env: "prod" }],
    ["leaves what is there on insert", { action: "insert", key: "user", value: "x" }, before],
    ["updates what is there", { action: "update", key: "user", value: 5 }, { ...before, user: 5 }],
    ["leaves what is not there on update", { action: "update", key: "env", value: "x" }, before],
    ["upserts", { action: "upsert", key: "ok", value: true }, { ...before, ok: true }],
    ["copies another attribute", { action: "upsert", key: "who", from_attribute: "user" }, { ...before, who: "anna" }],
    ["does nothing when the other is absent", { action: "upsert", key: "who", from_attribute: "nobody" }, before],
    ["deletes by key", { action: "delete", key: "user" }, { path: before.path, count: "12" }],
    ["deletes by pattern", { action: "delete", pattern: "^(user|count)$" }, { path: before.path }],
    ["converts to an integer", { action: "convert", key: "count", converted_type: "int" }, { ...before, count: 12 }],
    ["converts to a double", { action: "convert", key: "count", converted_type: "double" }, { ...before, count: 12 }],
    ["leaves what cannot be converted", { action: "convert", key: "user", converted_type: "int" }, before],
    [
      "extracts named groups",
      { action: "extract", key: "path", pattern: "^/api/(?P<version>v\\d+)/items/(?P<item>\\d+)" },
      { ...before, version: "v1", item: "42" },
    ],
    [
      "hashes with SHA-256",
      { action: "hash", key: "user" },
      { ...before, user: "55579b557896d0ce1764c47fed644f9b35f58bad620674af23f356d80ed0c503" },
    ],
    [
      "takes a default",
      { action: "upsert", key: "who", from_attribute: "nobody", default_value: 7 },
      { ...before, who: 7 },
    ],
    ["inserts a map", { action: "insert", key: "m", value: { a: [1, "b"] } }, { ...before, m: { a: [1, "b"] } }],
    ["takes actions in capitals", { action: "DELETE", pattern: "^(path|count)$" }, { user: "anna" }],
    ["empties what has no hash", { action: "hash", pattern: "^(m)$" }, before],
  ])("%s", (_name, action, expected) => {
    expect(act(action)).toEqual(expected);
  });

  it.each([
    [7, "0700000000000000", "an integer"],
    [asDouble(7), "0000000000001c40", "a whole double"],
    [true, "01", "a boolean"],
  ])("hashes the bytes of %j (%s: %s) as the Collector does", (value, hex) => {
    const actions = [
      { action: "insert", key: "v", value },
      { action: "hash", key: "v" },
    ];
    const expected = createHash("sha256").update(Buffer.from(hex, "hex")).digest("hex");
    expect(attributesOf(run(attributesProcessor, { actions }))["v"]).toBe(expected);
  });

  it("keeps a whole double a double when it is copied", () => {
    const actions = [
      { action: "insert", key: "a", value: asDouble(7) },
      { action: "insert", key: "b", from_attribute: "a" },
      { action: "convert", key: "a", converted_type: "int" },
      { action: "hash", pattern: "^[ab]$" },
    ];
    const { a, b } = attributesOf(run(attributesProcessor, { actions }));
    expect(a).not.toBe(b);
  });

  it("takes a value from the client's metadata", () => {
    const origin = { metadata: new Map([["x-tenant", ["acme"]]]) };
    expect(act({ action: "insert", key: "tenant", from_context: "metadata.X-Tenant" }, origin)).toMatchObject({
      tenant: "acme",
    });
  });

  it("takes the client's address", () => {
    const origin = { metadata: new Map([["client.address", ["10.0.0.7"]]]) };
    const action = { action: "insert", key: "ip", from_context: "client.address" };
    expect(act(action, origin)).toMatchObject({ ip: "10.0.0.7" });
  });

  it.each([
    ["actions", attributesProcessor],
    ["attributes", resourceProcessor],
  ])("logs one warning when nothing is known about the client that %s need", (key, factory) => {
    const warnings: string[] = [];
    const logger = { ...silentLogger, warn: (_: object, message: string) => void warnings.push(message) };
    const from_context = "client.address";
    const config = factory.schema.parse({ [key]: [{ action: "insert", key: "ip", from_context }] });
    const start = () => feed(factory.create(config as never, { ...context, logger })).source;
    start().next(owed(batch, { metadata: new Map() }).delivery);
    expect(warnings).toEqual([]);
    const source = start();
    for (let i = 0; i < 2; i++) source.next(owed(batch).delivery);
    expect(warnings).toEqual([expect.stringContaining("include_metadata: true")]);
  });

  it("passes an unchanged batch as the same object", () => {
    expect(run(attributesProcessor, { actions: [{ action: "delete", key: "nobody" }] })).toBe(batch);
  });

  it("gives the bytes that edits of whole records give", () => {
    const key = fc.constantFrom("a", "b", "a.b", "1", "event.name", "ö");
    const value = fc.constantFrom<Value>("", "x", 5, 0.5, true, { m: [1] });
    const action = fc.oneof(
      fc.record({ action: fc.constantFrom("insert", "update", "upsert"), key, value }),
      fc.record({ action: fc.constantFrom("insert", "update", "upsert"), key, from_attribute: key }),
      fc.record({ action: fc.constantFrom("delete", "hash"), key }),
      fc.record({ action: fc.constantFrom("delete", "hash"), pattern: fc.constantFrom("^a", ".", "^k+$") }),
      fc.record({ action: fc.constant("convert"), key, converted_type: fc.constantFrom("int", "string") }),
      fc.record({ action: fc.constant("extract"), key, pattern: fc.constant("(?P<a>.)(?P<c>x?)") }),
    );
    const actions = fc.array(action, { minLength: 1, maxLength: 12 });
    const asViews = (input: Batch, configs: readonly object[]) => {
      const changes = configs.map((config) => createAction(actionSchema.parse(config)));
      return editRecords(input, ({ attributes }) => {
        for (const change of changes) change(attributes, { receiver: "test", transport: "test" });
      });
    };
    fc.assert(
      fc.property(anyRequest, actions, fc.boolean(), fc.integer(), ({ signal, tree }, actions, isOdd, seed) => {
        const { bytes } = encodeTree(signal, tree);
        const oddities = { unknown: true, shuffled: true, padded: true };
        const input = Batch.admit(signal, isOdd ? rewritten(signal, bytes, oddities, seed) : bytes);
        const [edited, expected] = [run(attributesProcessor, { actions }, {}, input), asViews(input, actions)];
        expect(Buffer.compare(edited.bytes, expected.bytes)).toBe(0);
        expect(edited === input).toBe(expected === input);
      }),
      runs(100),
    );
  });

  it.each([
    ["ASCII", "x".repeat(128)],
    ["longer ASCII", "x".repeat(129)],
    ["other text", "ä"],
    ["no text", ""],
  ])("hashes %s as text", (_, text) => {
    const actions = [
      { action: "update", key: "user", value: text },
      { action: "upsert", key: "copy", from_attribute: "user" },
    ];
    const input = run(attributesProcessor, { actions });
    const hashed = run(attributesProcessor, { actions: [{ action: "hash", pattern: "user|copy" }] }, {}, input);
    const expected = createHash("sha256").update(text).digest("hex");
    expect(attributesOf(hashed)).toMatchObject({ user: expected, copy: expected });
  });

  it.each([
    [{ match_type: "strict", services: ["shop"] }, true],
    [{ match_type: "strict", services: ["sho"] }, false],
    [{ match_type: "regexp", services: ["^sh"] }, true],
    [{ match_type: "strict", attributes: [{ key: "user" }] }, true],
    [
      {
        match_type: "strict",
        attributes: [
          { key: "user", value: "anna" },
          { key: "count", value: "13" },
        ],
      },
      false,
    ],
    [{ match_type: "regexp", attributes: [{ key: "path", value: "items/\\d+$" }] }, true],
    [{ match_type: "strict", log_bodies: ["hello"] }, true],
    [{ match_type: "strict", log_severity_texts: ["WARN"] }, false],
    [{ match_type: "strict", log_severity_number: { min: "INFO" } }, true],
    [{ match_type: "strict", log_severity_number: { min: "ERROR" } }, false],
    [{ match_type: "strict", libraries: [{ name: "lib", version: "1" }] }, true],
    [{ match_type: "strict", span_names: ["hello"] }, false],
  ])("includes by %j: %s; excludes the other way round", (match, isMatch) => {
    const actions = [{ action: "insert", key: "hit", value: true }];
    expect("hit" in attributesOf(run(attributesProcessor, { actions, include: match }))).toBe(isMatch);
    expect("hit" in attributesOf(run(attributesProcessor, { actions, exclude: match }))).toBe(!isMatch);
  });

  it.each([
    [{ actions: [] }, ["actions"]],
    [{ actions: [{ action: "insert", key: "a" }] }, ["actions", 0, "action"]],
    [{ actions: [{ action: "insert", value: 1 }] }, ["actions", 0, "key"]],
    [{ actions: [{ action: "convert", key: "a" }] }, ["actions", 0, "converted_type"]],
    [{ actions: [{ action: "extract", key: "a", pattern: "(\\d+)" }] }, ["actions", 0, "pattern"]],
    [{ actions: [{ action: "delete", pattern: "(" }] }, ["actions", 0, "pattern"]],
    [
      { actions: [{ action: "delete", key: "a" }], include: { match_type: "regexp", services: ["("] } },
      ["include", "services", 0],
    ],
    [
      {
        include: { match_type: "strict", log_severity_number: { min: "LOUD" } },
        actions: [{ key: "a", action: "delete" }],
      },
      ["include", "log_severity_number", "min"],
    ],
    [
      {
        exclude: { match_type: "regexp", libraries: [{ name: "a", version: "(" }] },
        actions: [{ key: "a", action: "delete" }],
      },
      ["exclude", "libraries", 0, "version"],
    ],
    [{ actions: [{ action: "delete", key: "a" }], include: { match_type: "strict" } }, ["include"]],
    [
      { actions: [{ action: "delete", key: "a" }], exclude: { match_type: "strict", span_kinds: ["client"] } },
      ["exclude", "span_kinds", 0],
    ],
  ])("refuses %j and names the place", (config, path) => {
    expect(attributesProcessor.schema.safeParse(config).error?.issues[0]?.path).toEqual(path);
  });

  it("is refused in a pipeline whose records cannot have a property that it asks for", () => {
    const load = (signal: string) =>
      loadText(
        `receivers: {otlp: {protocols: {http: }}}
processors: {attributes: {include: {match_type: strict, log_bodies: [a]}, actions: [{key: a, action: delete}]}}
exporters: {debug: }
service: {pipelines: {${signal}: {receivers: [otlp], processors: [attributes], exporters: [debug]}}}
`,
        { registry: new Registry(builtins) },
      ).problems.filter(({ severity }) => severity === "error");
    expect(load("traces")).toMatchObject([
      {
        code: "unsupported_signal",
        message: 'processor "attributes" cannot process traces: include.log_bodies is only for logs',
      },
    ]);
    expect(load("logs")).toEqual([]);
  });
});

describe("the resource processor", () => {
  it("changes the resource of all records", () => {
    const config = { attributes: [{ action: "upsert", key: "service.name", value: "store" }] };
    let service: unknown;
    readRecords(run(resourceProcessor, config), (record) => {
      service = record.resource.attributes.get("service.name");
    });
    expect(service).toBe("store");
  });
});
