import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { type Batch, batchFromJson, batchToJson } from "../../../src/plugin.js";
import { versioning } from "../../../src/processors/versioning/component.js";
import { countedMetrics } from "../../runtime/queue/counted-metrics.js";
import { keyValues, type Plain, replay, run } from "./support.js";

const folder = mkdtempSync(join(tmpdir(), "sluice-schemas-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function written(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const FILE = written(
  "schema.yaml",
  `
file_format: 1.1.0
schema_url: https://example.com/schemas/1.3.0
versions:
  1.3.0:
    all:
      changes:
        - rename_attributes: {attribute_map: {user.name: user.full_name}}
    spans:
      changes:
        - rename_attributes: {attribute_map: {table: collection}, apply_to_spans: [query]}
    metrics:
      changes:
        - rename_metrics: {cpu.usage: cpu.used}
        - rename_attributes: {attribute_map: {state: cpu.state}, apply_to_metrics: [cpu.used]}
  1.2.0:
    all:
      changes:
        - rename_attributes: {attribute_map: {user: user.name}}
    resources:
      changes:
        - rename_attributes: {attribute_map: {env: deployment.environment}}
    span_events:
      changes:
        - rename_events: {name_map: {stacktrace: stack_trace}}
        - rename_attributes: {attribute_map: {text: message}, apply_to_events: [stack_trace], apply_to_spans: [query]}
    logs:
      changes:
        - rename_attributes: {attribute_map: {lvl: level}}
  1.1.0:
    metrics:
      changes:
        - split: {apply_to_metric: io, by_attribute: direction, metrics_from_attributes: {io.in: in}}
  1.0.0:
`,
);

const url = (version: string) => `https://example.com/schemas/${version}`;
const TO_NEW = { schemas: [FILE] };
const TO_OLD = { schemas: [FILE], target: url("1.1.0") };

function logsOf(resourceUrl: string, scopeUrl: string, resource: Plain, attributes: Plain): Batch {
  const scopeLogs = [{ schemaUrl: scopeUrl, logRecords: [{ attributes: keyValues(attributes) }] }];
  const container = { resource: { attributes: keyValues(resource) }, schemaUrl: resourceUrl, scopeLogs };
  return batchFromJson("logs", JSON.stringify({ resourceLogs: [container] }));
}

/** Returns the content of a batch as OTLP/JSON, with attributes as `key=value`. */
function shown(batch: Batch | undefined): unknown {
  return JSON.parse(batchToJson(batch!), (key, value) =>
    key === "attributes"
      ? (value as { key: string; value: object }[]).map((one) => `${one.key}=${Object.values(one.value)[0]}`).sort()
      : key === "schemaUrl" && value === ""
        ? undefined
        : value,
  );
}

describe("translation between schema versions", () => {
  it("goes up: resources and logs, through all versions in between", () => {
    const metrics = countedMetrics();
    const batch = logsOf(url("1.1.0"), "", { env: "prod", user: "r" }, { user: "u", lvl: "info", x: "y" });
    expect(shown(run(TO_NEW, batch, metrics).going)).toEqual({
      resourceLogs: [
        {
          resource: { attributes: ["deployment.environment=prod", "user.full_name=r"] },
          schemaUrl: url("1.3.0"),
          scopeLogs: [{ logRecords: [{ attributes: ["level=info", "user.full_name=u", "x=y"] }] }],
        },
      ],
    });
    expect(metrics.value("sluice_versioning_translated_items")).toBe(1);
  });

  it("goes down again to what it was", () => {
    const batch = logsOf(url("1.1.0"), url("1.1.0"), { env: "prod" }, { user: "u", lvl: "info" });
    const up = run(TO_NEW, batch).going!;
    expect(shown(up)).not.toEqual(shown(batch));
    expect(shown(run(TO_OLD, up).going)).toEqual(shown(batch));
  });

  it("follows the scope's schema URL for the records and the resource's for the resource", () => {
    const batch = logsOf("", url("1.2.0"), { env: "prod" }, { lvl: "stays", "user.name": "u" });
    expect(shown(run(TO_NEW, batch).going)).toEqual({
      resourceLogs: [
        {
          resource: { attributes: ["env=prod"] },
          scopeLogs: [{ schemaUrl: url("1.3.0"), logRecords: [{ attributes: ["lvl=stays", "user.full_name=u"] }] }],
        },
      ],
    });
  });

  it("translates spans and their events, also with changes limited to some names", () => {
    const span = (name: string) => ({
      name,
      traceId: "0".repeat(31) + 1,
      spanId: "0".repeat(15) + 1,
      attributes: keyValues({ table: "t", user: "u" }),
      events: ["stacktrace", "other"].map((event) => ({ name: event, attributes: keyValues({ text: "t" }) })),
    });
    const scopeSpans = [{ schemaUrl: url("1.1.0"), spans: [span("query"), span("call")] }];
    const batch = batchFromJson("traces", JSON.stringify({ resourceSpans: [{ scopeSpans }] }));
    const going = run(TO_NEW, batch).going!;
    const { resourceSpans } = shown(going) as { resourceSpans: { scopeSpans: { spans: object[] }[] }[] };
    expect(resourceSpans[0]!.scopeSpans[0]!.spans).toMatchObject([
      {
        attributes: ["collection=t", "user.full_name=u"],
        events: [
          { name: "stack_trace", attributes: ["message=t"] },
          { name: "other", attributes: ["text=t"] },
        ],
      },
      {
        attributes: ["table=t", "user.full_name=u"],
        events: [
          { name: "stack_trace", attributes: ["text=t"] },
          { name: "other", attributes: ["text=t"] },
        ],
      },
    ]);
    expect(shown(run(TO_OLD, going).going)).toEqual(shown(batch));
  });

  const cpu = (version: string) => {
    const points = [{ attributes: keyValues({ state: "idle" }) }, { attributes: keyValues({ state: "user" }) }];
    const metrics = ["cpu.usage", "mem"].map((name) => ({ name, gauge: { dataPoints: points } }));
    const scopeMetrics = [{ schemaUrl: url(version), metrics }];
    return batchFromJson("metrics", JSON.stringify({ resourceMetrics: [{ scopeMetrics }] }));
  };

  it("translates metrics and their points", () => {
    const going = run(TO_NEW, cpu("1.2.0")).going!;
    const points = (key: string) => [{ attributes: [`${key}=idle`] }, { attributes: [`${key}=user`] }];
    expect(shown(going)).toEqual({
      resourceMetrics: [
        {
          scopeMetrics: [
            {
              schemaUrl: url("1.3.0"),
              metrics: [
                { name: "cpu.used", gauge: { dataPoints: points("cpu.state") } },
                { name: "mem", gauge: { dataPoints: points("state") } },
              ],
            },
          ],
        },
      ],
    });
  });

  it("leaves and counts what it cannot translate: a version that is not in the file, a split of metrics", () => {
    for (const batch of [logsOf(url("9.0.0"), "", {}, { user: "u" }), cpu("1.0.0")]) {
      const metrics = countedMetrics();
      expect(run(TO_NEW, batch, metrics).going).toBe(batch);
      expect(metrics.value("sluice_versioning_untranslated_items")).toBe(batch.count);
    }
  });

  it("leaves telemetry unchanged that names no schema, another one, or the target already", () => {
    const metrics = countedMetrics();
    for (const named of ["", "https://other.example/schemas/1.1.0", url("1.3.0"), "nonsense"]) {
      const batch = logsOf(named, "", {}, { user: "u" });
      expect(run(TO_NEW, batch, metrics).going).toBe(batch);
    }
    expect(metrics.value("sluice_versioning_untranslated_items")).toBe(0);
  });

  it("loses no attribute when the new key is taken, and changes nothing the second time or on replay", () => {
    const batch = logsOf(url("1.2.0"), "", {}, { "user.name": "a", "user.full_name": "b" });
    const going = run(TO_NEW, batch).going!;
    expect(JSON.stringify(shown(going))).toContain('["user.full_name=b","user.name=a"]');
    expect(run(TO_NEW, going).going).toBe(going);
    expect(replay(TO_NEW, going)).toBe(going);
    expect(shown(replay(TO_NEW, batch))).toEqual(shown(going));
  });

  it.each([
    ["a file that is not there", { schemas: [join(folder, "none.yaml")] }, "schemas.0", "cannot read"],
    ["a file that is no schema", { schemas: [written("a.yaml", "a: b")] }, "schemas.0", "file_format"],
    ["a file that is no YAML", { schemas: [written("b.yaml", "a: [")] }, "schemas.0", "cannot read"],
    ["another format", { schemas: [written("c.yaml", "file_format: 2.0.0")] }, "schemas.0", "expected file_format"],
    ["two files of one family", { schemas: [FILE, FILE] }, "schemas.1", "another file"],
    ["a version that is not in the file", { schemas: [FILE], target: url("1.4.0") }, "target", "1.0.0, 1.1.0"],
    ["a target of another family", { schemas: [FILE], target: ["https://x/1.0.0"] }, "target.0", "no schema file"],
  ])("rejects %s", (_, config, path, words) => {
    const [issue] = versioning.schema.safeParse(config).error?.issues ?? [];
    expect(issue?.path.join(".")).toBe(path);
    expect(issue?.message).toContain(words);
  });
});
