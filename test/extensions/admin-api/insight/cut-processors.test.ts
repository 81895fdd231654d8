import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import {
  CutError,
  type CutRequest,
  cutProcessors,
  regexOf,
} from "../../../../src/extensions/admin-api/insight/cut-processors.js";
import { type Batch, batchFromJson, type Signal } from "../../../../src/plugin.js";
import { startRunningApi } from "../running-agent.js";

const text = (stringValue: string) => ({ stringValue });
const pair = (key: string, value: string) => ({ key, value: text(value) });
const request = (change: Partial<CutRequest>): CutRequest => ({
  ...{
    action: "drop",
    by: "service",
    name: "noisy",
    signal: "logs",
    n: 4,
    context: undefined,
    label: undefined,
    labels: [],
  },
  ...change,
});

/** Half of the records are of the service "noisy". */
function traffic(signal: Signal, count: number): Batch {
  const id = (i: number, length: number) => (i * 2654435761 + 1).toString(16).padStart(length, "7").slice(-length);
  const resources = ["noisy", "quiet"].map((service) => {
    const resource = { attributes: [pair("service.name", service)] };
    const of = Array.from({ length: count }, (_, i) => i);
    const name = `GET /${service}`;
    if (signal === "logs")
      return {
        resource,
        scopeLogs: [
          {
            logRecords: of.map((i) => ({
              severityNumber: 9,
              body: text(`${service} line ${i} (ok)`),
              attributes: [pair("ua", "x")],
            })),
          },
        ],
      };
    if (signal === "traces")
      return { resource, scopeSpans: [{ spans: of.map((i) => ({ traceId: id(i, 32), spanId: id(i, 16), name })) }] };
    return {
      resource,
      scopeMetrics: [
        {
          metrics: [
            {
              name: service,
              gauge: {
                dataPoints: of.map((i) => ({
                  asInt: "1",
                  timeUnixNano: "1",
                  attributes: [pair("user", `u${i}`), pair("method", "GET")],
                })),
              },
            },
          ],
        },
      ],
    };
  });
  const key = { logs: "resourceLogs", traces: "resourceSpans", metrics: "resourceMetrics" }[signal];
  return batchFromJson(signal, JSON.stringify({ [key]: resources }));
}

const map = (...values: object[]) => ({ body: { kvlistValue: { values } } });
/** One record for each kind of body, by its pattern. */
const BODIES: Readonly<Record<string, object>> = {
  "user <*> logged in": { body: text("user 1 logged in") },
  "user <*> logged out": map(pair("level", "info"), pair("message", "user 17 logged out")),
  "disk <*> full": map(pair("msg", "disk 17 full")),
  "(map)": map({ key: "message", value: { intValue: "1" } }),
  "(number)": { body: { intValue: "5" } },
  "(not a text)": { body: { doubleValue: 5.5 } },
  "(no body)": {},
};

/** The numbers of records of both services that leave a pipeline with these processors, and an answer of insight. */
async function leaving(change: Partial<CutRequest>, by = "service", batch = traffic(change.signal ?? "logs", 400)) {
  const { processors } = cutProcessors(request(change));
  const signal = change.signal ?? "logs";
  const config = {
    processors,
    exporters: { nop: null },
    service: {
      extensions: ["reliability", "admin", "insight"],
      pipelines: { [signal]: { receivers: ["hand"], processors: Object.keys(processors), exporters: ["nop"] } },
    },
  };
  const { ask, hand } = await startRunningApi(stringify(config), {
    extensions: "insight: {sampling_ratio: 1, max_memory: 2MiB}",
  });
  expect(await hand(batch)).toMatchObject({ ok: true });
  const { rows } = (await ask("GET", `/insight?by=${by}`)).body;
  return new Map<string, number>(rows.map(({ name, records }: { name: string; records: number }) => [name, records]));
}

describe("the processors that cut something", () => {
  it.each<[string, Partial<CutRequest>]>([
    ["a service", {}],
    ["a pattern", { by: "pattern", name: "noisy line <*> (ok)" }],
    ["a span", { by: "span", name: "GET /noisy", signal: "traces" }],
    ["a metric", { by: "metric", name: "noisy", signal: "metrics" }],
  ])("drop %s and nothing else", async (_, change) => {
    expect(await leaving(change)).toEqual(new Map([["quiet", 400]]));
  });

  it.each(Object.keys(BODIES))("drop the bodies of pattern %s and no others", async (name) => {
    const logRecords = Object.values(BODIES).map((body) => ({ severityNumber: 9, ...body }));
    const batch = batchFromJson("logs", JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }));
    const left = await leaving({ by: "pattern", name }, "pattern", batch);
    expect([...left.keys()].sort()).toEqual(
      Object.keys(BODIES)
        .filter((each) => each !== name)
        .sort(),
    );
  });

  it.each<[string, Partial<CutRequest>]>([
    ["log records without trace ids", {}],
    ["spans", { signal: "traces" }],
  ])("sample %s of one service, and keep all of the other", async (_, change) => {
    const left = await leaving({ ...change, action: "sample", n: 4 });
    expect(left.get("quiet")).toBe(400);
    expect(left.get("noisy")).toBeGreaterThan(40);
    expect(left.get("noisy")).toBeLessThan(180);
    const attributes = await leaving({ ...change, action: "sample", n: 4 }, "attribute");
    expect([...attributes.keys()].filter((key) => /^sampling\.(priority|key)$/.test(key))).toEqual([]);
  });

  it("remove an attribute", async () => {
    const left = await leaving({ action: "remove_attribute", by: "attribute", name: "ua" }, "attribute");
    expect([...left.keys()]).toEqual(["service.name"]);
  });

  it("aggregate a label away", async () => {
    const change = {
      action: "aggregate_label",
      by: "cardinality",
      name: "noisy",
      signal: "metrics",
      label: "user",
      labels: ["user", "method"],
    } as const;
    expect(await leaving(change, "metric")).toEqual(
      new Map([
        ["quiet", 400],
        ["noisy", 1],
      ]),
    );
  });

  it.each<[string, Partial<CutRequest>, string]>([
    ["sampled data points", { action: "sample", signal: "metrics" }, "data points cannot be sampled"],
    ["spans without duplicates", { action: "dedup", signal: "traces" }, "only log records"],
    ["an attribute of a service", { action: "remove_attribute" }, "only rows of by=attribute"],
    [
      "a label that the metric does not have",
      { action: "aggregate_label", by: "metric", signal: "metrics", label: "x" },
      "has no label",
    ],
    ["an exporter", { by: "exporter" }, "an exporter cannot be cut"],
    ["duplicates without the first one", { by: "duplicates" }, "all records of the service"],
    ["some of the duplicates", { by: "duplicates", action: "sample" }, "all records of the service"],
  ])("do not exist for %s", (_, change, message) => {
    expect(() => cutProcessors(request(change))).toThrow(CutError);
    expect(() => cutProcessors(request(change))).toThrow(message);
  });

  it("quote names, whatever is in them", () => {
    const { processors } = cutProcessors(request({ name: 'a"\\b\n' }));
    expect(JSON.stringify(processors)).toContain(
      JSON.stringify('resource.attributes["service.name"] == "a\\"\\\\b\\n"').slice(1, -1),
    );
  });

  it("match the lines of a pattern and no others", () => {
    const pattern = new RegExp(regexOf("GET /a+b (<*>) took <*>"));
    expect(pattern.test("GET /a+b (10.0.0.1) took 5ms")).toBe(true);
    expect(pattern.test("GET /aab (10.0.0.1) took 5ms")).toBe(false);
  });
});
