import { gzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import { sampleIds } from "../../../src/agent/testing/samples.js";
import { type Batch, type ReceiverContext, type ReceiverFactory, Refusal } from "../../../src/plugin.js";
import { splunkHecReceiver } from "../../../src/receivers/splunk-hec/component.js";
import { systemClock } from "../../../src/runtime/contract/clock.js";
import { noMetrics, silentLogger } from "../../../src/runtime/contract/observability.js";
import { receiverConformance, TestIntake } from "../../../src/testing.js";
import { CONDITION_LIMIT_MS as patienceMs } from "../../support/limits.js";
import { clientAnswer, postHalf, postTo, resourcesOf, valuesOf } from "../http-client.js";

const factory = splunkHecReceiver as ReceiverFactory;
const PATH = "/services/collector/event";
const RAW = "/services/collector/raw";

async function start(config: object = {}, signals: readonly ("logs" | "metrics")[] = ["logs", "metrics"]) {
  const intakes = { logs: new TestIntake(), metrics: new TestIntake() };
  const context: ReceiverContext = {
    ...{ id: "splunk_hec", kind: "receiver", logger: silentLogger, metrics: noMetrics, clock: systemClock },
    random: () => 0.5,
    intakes: Object.fromEntries(signals.map((signal) => [signal, intakes[signal]])),
  };
  const receiver = factory.create(factory.schema.parse({ endpoint: "127.0.0.1:0", ...config }), context);
  await receiver.start();
  onTestFinished(() => receiver.stop?.());
  const { port } = receiver as unknown as { readonly port: number };
  return { ...intakes, port, post: (body: string | Buffer, headers = {}) => postTo(port, PATH, body, headers) };
}

const answerOf = async (response: Response) => [response.status, await response.json()];

/** Resources with their records, in short. */
const logsOf = (batch: Batch) =>
  resourcesOf(batch).map(({ resource, items }) => ({
    resource,
    records: items.map(({ timeUnixNano, body, attributes }) => [String(timeUnixNano ?? 0), body, valuesOf(attributes)]),
  }));

const metricsOf = (batch: Batch) =>
  resourcesOf(batch).map(({ resource, items }) => ({
    resource,
    metrics: items.map(({ name, gauge }) => {
      const { asDouble, timeUnixNano, attributes } = gauge!.dataPoints[0]!;
      return [name, asDouble, String(timeUnixNano ?? 0), valuesOf(attributes)];
    }),
  }));

describe("the splunk_hec receiver", () => {
  it("makes log records of events, grouped by their metadata", async () => {
    const { logs, metrics, post } = await start();
    const owner = { host: "h", source: "s", sourcetype: "t", index: "i" };
    const events = [
      { ...owner, time: 1700000000.5, event: "hello", fields: { b: 1, a: "x", list: ["y", 2] } },
      { ...owner, host: "other", time: "1700000000123", event: { z: null, a: [true, { 2: 1.5, 10: "k" }] } },
      { ...owner, EVENT: 7, time: true, unknown: {} },
    ];
    expect(await answerOf(await post(events.map((event) => JSON.stringify(event)).join("\n")))).toEqual([
      200,
      { text: "Success", code: 0 },
    ]);
    const resource = {
      "host.name": "h",
      "com.splunk.source": "s",
      "com.splunk.sourcetype": "t",
      "com.splunk.index": "i",
    };
    const map = {
      kvlistValue: {
        values: [
          { key: "10", value: { stringValue: "k" } },
          { key: "2", value: { doubleValue: 1.5 } },
        ],
      },
    };
    const body = {
      kvlistValue: {
        values: [
          { key: "a", value: { arrayValue: { values: [{ boolValue: true }, map] } } },
          { key: "z", value: {} },
        ],
      },
    };
    expect(logsOf(logs.batches[0]!)).toEqual([
      {
        resource,
        records: [
          [
            "1700000000500000000",
            { stringValue: "hello" },
            { a: "x", b: 1, list: { values: [{ stringValue: "y" }, { doubleValue: 2 }] } },
          ],
          ["0", { doubleValue: 7 }, {}],
        ],
      },
      { resource: { ...resource, "host.name": "other" }, records: [["1700000000123000064", body, {}]] },
    ]);
    expect([logs.batches[0]!.count, metrics.batches.length, logs.reserved]).toEqual([3, 0, 0]);
  });

  it("makes gauges of metric events, and takes both kinds in one request", async () => {
    const { logs, metrics, post } = await start();
    const events = [
      {
        time: 1700000000,
        event: "metric",
        host: "h",
        fields: { metric_name: "cpu", _value: 12.5, core: 3, big: 1234567 },
      },
      { event: "metric", fields: { "metric_name:a.b": 1, "metric_name:c": "2.5", "metric_name:d": "x", e: [1, "f"] } },
      { event: "log" },
    ];
    expect((await post(gzipSync(JSON.stringify(events)), { "content-encoding": "gzip" })).status).toBe(200);
    expect(metricsOf(metrics.batches[0]!)).toEqual([
      {
        resource: { "host.name": "h" },
        metrics: [["cpu", 12.5, "1700000000000000000", { core: "3", big: "1.234567e+06" }]],
      },
      {
        resource: {},
        metrics: [
          ["a.b", 1, "0", { e: "[1 f]" }],
          ["c", 2.5, "0", { e: "[1 f]" }],
        ],
      },
    ]);
    expect(logsOf(logs.batches[0]!)[0]!.records).toEqual([["0", { stringValue: "log" }, {}]]);
  });

  it("takes raw text at its own path, by line or as a whole", async () => {
    const { logs, port } = await start();
    const answer = await postTo(port, `${RAW}?host=h&sourcetype=t&time=1700000000`, "a\r\n\nb\n");
    expect(await answerOf(answer)).toEqual([200, { text: "Success", code: 0 }]);
    const record = (text: string) => ["1700000000000000000", { stringValue: text }, {}];
    expect(logsOf(logs.batches[0]!)).toEqual([
      { resource: { "host.name": "h", "com.splunk.sourcetype": "t" }, records: [record("a"), record(""), record("b")] },
    ]);
    expect(await answerOf(await postTo(port, `${RAW}?time=-1`, "a"))).toEqual([
      400,
      { text: "Invalid data format", code: 6 },
    ]);
    const whole = await start({ splitting: "none", raw_path: "/r" });
    await postTo(whole.port, "/r", "a\nb\n");
    expect(logsOf(whole.logs.batches[0]!)[0]!.records).toEqual([["0", { stringValue: "a\nb\n" }, {}]]);
  });

  it("keeps the client's token only if it is asked to", async () => {
    const token = { authorization: "Splunk 1234" };
    for (const [config, resource] of [
      [{}, {}],
      [{ access_token_passthrough: true }, { "com.splunk.hec.access_token": "1234" }],
    ]) {
      const { logs, post } = await start(config);
      await post('{"event":"a"}', token);
      expect(logsOf(logs.batches[0]!)[0]!.resource).toEqual(resource);
    }
  });

  it("names resource attributes as the config says", async () => {
    const { logs, post } = await start({ hec_metadata_to_otel_attrs: { host: "h", source: "s", index: "s" } });
    await post('{"event":"a","host":"1","source":"2","index":"3"}');
    expect(logsOf(logs.batches[0]!)[0]!.resource).toEqual({ h: "1", s: "3" });
  });

  it.each([
    ["", 400, { text: "No data", code: 5 }],
    ["[]", 400, { text: "No data", code: 5 }],
    [" ", 400, { text: "Invalid data format", code: 6 }],
    ["{", 400, { text: "Invalid data format", code: 6 }],
    ["1", 400, { text: "Invalid data format", code: 6 }],
    ['[{"event":"a"}', 400, { text: "Invalid data format", code: 6 }],
    ['[{"event":"a"}]x', 400, { text: "Invalid data format", code: 6 }],
    ['[{"event":"a"},]', 400, { text: "Invalid data format", code: 6 }],
    ['{"event":"a"}[{"event":"b"}]', 400, { text: "Invalid data format", code: 6 }],
    ['{"event":"a","host":1}', 400, { text: "Invalid data format", code: 6 }],
    ['{"event":"a","fields":[1]}', 400, { text: "Invalid data format", code: 6 }],
    ['{"event":"a","time":"now"}', 400, { text: "Invalid data format", code: 6 }],
    ['{"event":"a","fields":{"metric_name":1}}', 400, { text: "Invalid data format", code: 6 }],
    ["{}", 400, { text: "Event field is required", code: 12 }],
    ["null", 400, { text: "Event field is required", code: 12 }],
    ['{"event":""}', 400, { text: "Event field cannot be blank", code: 13 }],
    [
      '{"event":"a"}{"event":"a","fields":{"x":{"y":1}}}',
      400,
      { text: "Error in handling indexed fields", code: 15, "invalid-event-number": 1 },
    ],
    [`{"event":${"[".repeat(100)}${"]".repeat(100)}}`, 400, { text: "Invalid data format", code: 6 }],
    ["[".repeat(100_000), 400, { text: "Invalid data format", code: 6 }],
  ])("answers %j with %d and still serves", async (body, status, answer) => {
    const { logs, post } = await start();
    expect(await answerOf(await post(body))).toEqual([status, answer]);
    expect((await post('{"event":"a"}')).status).toBe(200);
    expect([logs.batches.length, logs.reserved]).toEqual([1, 0]);
  });

  it("takes an event with many metrics, but not with as many dimensions for each", async () => {
    const { metrics, post } = await start();
    const members = (prefix: string, value: unknown) =>
      Object.fromEntries(Array.from({ length: 9000 }, (_, i) => [`${prefix}${i}`, value]));
    const fields = members("metric_name:m", 1);
    expect((await post(JSON.stringify({ event: "metric", fields: { ...fields, a: "x" } }))).status).toBe(200);
    expect(metrics.batches.map(({ count }) => count)).toEqual([9000]);
    const wide = { event: "metric", fields: { ...fields, ...members("d", "x") } };
    expect(await answerOf(await post(JSON.stringify(wide)))).toEqual([400, { text: "Invalid data format", code: 6 }]);
    expect(metrics.batches.length).toBe(1);
  });

  it("refuses a request that repeats a long token in very many resources", async () => {
    const { logs, post } = await start({ access_token_passthrough: true });
    const headers = { Authorization: `Splunk ${"x".repeat(8000)}` };
    const eventsOf = (count: number) => Array.from({ length: count }, (_, i) => `{"event":1,"host":"${i}"}`).join("");
    expect((await post(eventsOf(10_000), headers)).status).toBe(400);
    expect((await post(eventsOf(10), headers)).status).toBe(200);
    expect(logs.batches.map(({ count }) => count)).toEqual([10]);
  });

  it("refuses events of a kind that no pipeline reads", async () => {
    const logsOnly = await start({}, ["logs"]);
    expect(await answerOf(await logsOnly.post('{"event":"metric"}'))).toEqual([400, "Unsupported metric event"]);
    const metricsOnly = await start({}, ["metrics"]);
    expect(await answerOf(await metricsOnly.post('{"event":"a"}'))).toEqual([400, "Unsupported log event"]);
    expect((await metricsOnly.post('{"fields":{"metric_name:a":1}}')).status).toBe(200);
  });

  it("answers health checks, other methods, and channels", async () => {
    const { port, post } = await start();
    const get = async (path: string) => answerOf(await fetch(`http://127.0.0.1:${port}${path}`));
    expect(await get("/services/collector/health")).toEqual([200, { text: "HEC is healthy", code: 17 }]);
    expect(await get("/services/collector/health/1.0")).toEqual([200, { text: "HEC is healthy", code: 17 }]);
    expect(await get(PATH)).toEqual([400, 'Only "POST" method is supported']);
    const channel = (id: string) => post('{"event":"a"}', { "x-splunk-request-channel": id });
    expect((await channel("00872DC6-AC83-4EDE-8AFE-8413C3825C4C")).status).toBe(200);
    expect(await answerOf(await channel("x"))).toEqual([400, { text: "Invalid data channel", code: 11 }]);
    const missing = await postTo(port, `${PATH}?Channel=`, '{"event":"a"}');
    expect(await answerOf(missing)).toEqual([400, { text: "Data channel is missing", code: 10 }]);
  });

  it("tells clients in Splunk's words to send again", async () => {
    const { logs, post } = await start();
    logs.answer = () => ({ ok: false, refusal: new Refusal("throttled", "later", { retryAfterMs: 3000 }) });
    const later = await post('{"event":"a"}');
    expect(later.headers.get("retry-after")).toBe("3");
    expect(await answerOf(later)).toEqual([429, { text: "Server is busy", code: 9 }]);
    logs.room = 1;
    expect(await answerOf(await post('{"event":"a"}'))).toEqual([503, { text: "Server is busy", code: 9 }]);
  });

  it("refuses a request of which one part is refused, but only for as long as that part is", async () => {
    const { logs, metrics, post } = await start();
    metrics.answer = () => ({ ok: false, refusal: new Refusal("transient", "later") });
    logs.answer = () => ({ ok: false, refusal: new Refusal("permanent", "never") });
    const body = '{"event":"a"}{"fields":{"metric_name:a":1}}';
    expect((await post(body)).status).toBe(503);
    metrics.answer = () => ({ ok: true, rejected: 0, message: "" });
    expect(await answerOf(await post(body))).toEqual([400, { text: "never", code: 6 }]);
  });

  it("refuses acknowledgements, which it does not have", () => {
    expect(() => factory.schema.parse({ ack: { extension: "ack" } })).toThrow("the events are already safe");
    expect(() => factory.schema.parse({ ack: { path: "/ack" } })).not.toThrow();
  });
});

for (const signal of ["logs", "metrics"] as const)
  describe(`the splunk_hec receiver of ${signal}, as a receiver`, () => {
    const bodyOf = (batch: Batch) =>
      sampleIds(batch)
        .map((id) =>
          JSON.stringify({ event: signal === "logs" ? "a" : "metric", fields: { "sample.id": id, ...value } }),
        )
        .join("");
    const value = signal === "logs" ? {} : { "metric_name:a": 1 };
    const send = async (batch: Batch, port: number) => clientAnswer((await postTo(port, PATH, bodyOf(batch))).status);
    const sendPart = (batch: Batch, port: number) => postHalf(port, PATH, Buffer.from(bodyOf(batch)));
    const config = (port: number) => ({ endpoint: `127.0.0.1:${port}` });
    const options = { config, send, sendPart, signals: [signal], patienceMs };
    for (const { name, run } of receiverConformance(factory, options)) it(name, run);
  });
