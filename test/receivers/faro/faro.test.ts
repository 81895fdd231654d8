import { gzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  type Batch,
  batchToJson,
  type ReceiverContext,
  type ReceiverFactory,
  Refusal,
  type Signal,
} from "../../../src/plugin.js";
import { faroReceiver } from "../../../src/receivers/faro/component.js";
import { systemClock } from "../../../src/runtime/contract/clock.js";
import { noMetrics, silentLogger } from "../../../src/runtime/contract/observability.js";
import { type ClientAnswer, receiverConformance, TestIntake } from "../../../src/testing.js";
import { CONDITION_LIMIT_MS as patienceMs } from "../../support/limits.js";
import { clientAnswer, postHalf, postTo, resourcesOf, valuesOf } from "../http-client.js";

const factory = faroReceiver as ReceiverFactory;
const JSON_TYPE = { "content-type": "application/json" };
const TIME = "2026-01-31T10:46:17.680Z";

async function start(config: object = {}, signals: readonly Signal[] = ["logs", "traces"]) {
  const intake = new TestIntake();
  const context: ReceiverContext = {
    id: "faro",
    kind: "receiver",
    logger: silentLogger,
    metrics: noMetrics,
    clock: systemClock,
    random: () => 0.5,
    intakes: Object.fromEntries(signals.map((signal) => [signal, intake])),
  };
  const receiver = factory.create(factory.schema.parse({ endpoint: "127.0.0.1:0", ...config }), context);
  await receiver.start();
  onTestFinished(() => receiver.stop?.());
  const { port } = receiver as unknown as { readonly port: number };
  const post = (payload: unknown, headers: Record<string, string> = {}, path = "/faro") => {
    const isBytes = typeof payload === "string" || Buffer.isBuffer(payload);
    return postTo(port, path, isBytes ? payload : JSON.stringify(payload), { ...JSON_TYPE, ...headers });
  };
  return { intake, port, post };
}

const records = (batch: Batch) => resourcesOf(batch)[0]!.items;
const bodies = (batch: Batch) => records(batch).map(({ body }) => body!["stringValue"]);
/** The lines of a payload, without the word that the empty metadata has. */
async function linesOf(payload: object): Promise<unknown[]> {
  const { intake, post } = await start();
  expect((await post(payload)).status).toBe(202);
  return bodies(intake.batches[0]!).map((line) => String(line).replace(/ browser_mobile=false$/, ""));
}
const lineOf = async (payload: object) => (await linesOf(payload))[0];

const SPANS = {
  resourceSpans: [
    {
      resource: { attributes: [{ key: "service.name", value: { stringValue: "sdk" } }] },
      scopeSpans: [
        { spans: [{ traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331", name: "GET" }] },
      ],
    },
  ],
};

describe("the faro receiver", () => {
  it("makes a log record of each log, exception, measurement and event", async () => {
    const { intake, post } = await start();
    const trace = { trace_id: "0af7651916cd43dd8448eb211c80319c", span_id: "b7ad6b7169203331" };
    const answer = await post({
      events: [{ name: "click", domain: "browser", attributes: { b: "2", a: "1" }, timestamp: TIME }],
      logs: [{ message: "page opened", level: "warning", context: { page: "Cart" }, timestamp: TIME, trace }],
      exceptions: [
        {
          type: "TypeError",
          value: "x is undefined",
          fatal: true,
          stacktrace: { frames: [{ function: "f", filename: "a.js", lineno: 3, colno: 7, module: "m" }, {}] },
          timestamp: TIME,
        },
      ],
      measurements: [{ type: "web vitals", values: { ttfb: 14, lcp: 1234567.5, cls: 0.0078125 }, timestamp: TIME }],
      meta: { app: { name: "shop", version: "1.2", environment: "prod" } },
    });
    expect([answer.status, await answer.text()]).toEqual([202, ""]);
    const end = "app_name=shop app_version=1.2 app_environment=prod browser_mobile=false";
    const time = "timestamp=2026-01-31T10:46:17.68Z";
    expect(bodies(intake.batches[0]!)).toEqual([
      `${time} kind=log level=warning message="page opened" context_page=Cart traceID=${trace.trace_id} spanID=${trace.span_id} ${end}`,
      `${time} kind=exception level=error type=TypeError value="x is undefined" fatal=true stacktrace="TypeError: x is undefined\\n  at f (m|a.js:3:7)\\n  at  (:0:0)" ${end}`,
      `${time} kind=measurement level=info type="web vitals" cls=0.007812 lcp=1234567.500000 ttfb=14.000000 value_cls=0.0078125 value_lcp=1.2345675e+06 value_ttfb=14 ${end}`,
      `${time} kind=event level=info event_name=click event_domain=browser event_data_a=1 event_data_b=2 ${end}`,
    ]);
    const [first, ...rest] = JSON.parse(batchToJson(intake.batches[0]!)).resourceLogs[0].scopeLogs[0].logRecords;
    expect([first.traceId, first.spanId, first.timeUnixNano]).toEqual([trace.trace_id, trace.span_id, undefined]);
    expect(BigInt(first.observedTimeUnixNano)).toBeGreaterThan(0n);
    expect(rest[0].traceId).toBeUndefined();
    const kinds = records(intake.batches[0]!).map(({ attributes }) => valuesOf(attributes)["kind"]);
    expect(kinds).toEqual(["log", "exception", "measurement", "event"]);
  });

  it("gives resources the attributes of the app, those of spans too", async () => {
    const { intake, post } = await start();
    const app = { name: "shop", version: "1", environment: "prod", namespace: "web", bundleId: "b1" };
    expect((await post({ meta: { app }, logs: [{ message: "a", timestamp: TIME }], traces: SPANS })).status).toBe(202);
    const shared = { "service.name": "shop", "service.version": "1", "deployment.environment": "prod" };
    const bySignal = new Map(intake.batches.map((batch) => [batch.signal, resourcesOf(batch)[0]!]));
    expect(bySignal.get("logs")!.resource).toEqual({ ...shared, "service.namespace": "web", app_bundle_id: "b1" });
    expect(bySignal.get("traces")!.resource).toEqual({ ...shared, "service.namespace": "web" });
    expect(bySignal.get("traces")!.items.map(({ name }) => name)).toEqual(["GET"]);
  });

  it("ends every line with the metadata, in the Collector's order", async () => {
    const meta = {
      geo: { city: "Bern", country_iso: "CH" },
      view: { name: "cart" },
      k6: { isK6Browser: true, testRunId: "9" },
      os: { name: "iOS", build_id: "22G" },
      device: { brand: "x", is_physical: true, type: "mobile" },
      browser: {
        name: "chrome",
        mobile: true,
        viewportWidth: "80",
        brands: [{ brand: "Chromium", version: "120" }, null],
      },
      page: { id: "p", url: "https://a.example/?q=1", attributes: { k: "v" } },
      session: { id: "s", attributes: { z: "" } },
      user: { id: "7", email: "a@b.example", attributes: { role: "admin" } },
      app: { release: "r", installationId: "i" },
      sdk: { name: "faro", version: "1", integrations: [{ name: "a", version: "2" }, { name: "b" }] },
    };
    expect(await lineOf({ meta, logs: [{}] })).toBe(
      "timestamp=0001-01-01T00:00:00Z kind=log level=info sdk_name=faro sdk_version=1 sdk_integrations=a:2,b: " +
        "app_release=r app_installation_id=i user_email=a@b.example user_id=7 user_attr_role=admin session_id=s " +
        'page_id=p page_url="https://a.example/?q=1" page_attr_k=v browser_name=chrome browser_mobile=true ' +
        "browser_viewportWidth=80 browser_brand_0_brand=Chromium browser_brand_0_version=120 device_brand=x " +
        "device_is_physical=true device_type=mobile os_name=iOS os_build_id=22G k6_isK6Browser=true k6_testRunId=9 " +
        "view_name=cart geo_country_iso=CH geo_city=Bern",
    );
    const brands = await lineOf({ meta: { browser: { brands: "Chromium" } }, logs: [{}] });
    expect(brands).toMatch(/browser_mobile=false browser_brands=Chromium$/);
    expect(await lineOf({ meta: { browser: { brands: 7 } }, logs: [{}] })).not.toContain("brand");
  });

  it("quotes values and cleans names as logfmt needs it", async () => {
    const context = {
      'a b="c': "x",
      n: "null",
      q: 'say "hi"\\\n\u0001\u007f',
      rare: '\b"\f\u007f\ufffd',
      back: "a\\b",
      lone: "\ud800",
      __proto__x: "1",
    };
    expect(await lineOf({ logs: [{ context, timestamp: TIME }] })).toBe(
      "timestamp=2026-01-31T10:46:17.68Z kind=log level=info context___proto__x=1 context_abc=x context_back=a\\b " +
        'context_lone="\\ufffd" context_n="null" context_q="say \\"hi\\"\\\\\\n\\u0001\\u007f" context_rare="\\u0008\\"\\u000c\\u007f\\ufffd"',
    );
  });

  it("lets the metadata replace a value of the same name, at its place", async () => {
    const payload = { meta: { app: { name: "shop" } }, measurements: [{ values: { app_name: 1 } }] };
    expect(await lineOf(payload)).toBe(
      "timestamp=0001-01-01T00:00:00Z kind=measurement level=info app_name=shop value_app_name=1",
    );
  });

  it("gives exceptions that differ only in ids, addresses and paths the same hash", async () => {
    const { intake, post } = await start();
    const values = [
      "Cannot read property 'find' of undefined",
      "Cannot read property 'map' of undefined",
      "no order with id: 17 at https://a.example/x",
      "no order with id=4 at http://b.example",
      "other",
    ];
    await post({ exceptions: values.map((value) => ({ type: "Error", value, timestamp: TIME })) });
    const hashes = records(intake.batches[0]!).map(({ attributes }) => valuesOf(attributes)["hash"]);
    // The first is the hash that the Collector gives this text.
    expect(hashes[0]).toBe("7881982385208174497");
    expect([hashes[1], hashes[3]]).toEqual([hashes[0], hashes[2]]);
    expect(new Set(hashes).size).toBe(3);
  });

  it("takes requests at any path, compressed ones, and empty ones", async () => {
    const { intake, post } = await start();
    expect((await post({ logs: [{ message: "a" }] }, {}, "/")).status).toBe(202);
    const packed = gzipSync(JSON.stringify({ logs: [{ message: "b" }] }));
    expect((await post(packed, { "content-encoding": "gzip" }, "/collect/key")).status).toBe(202);
    for (const empty of [{}, { logs: null, traces: null, meta: null }, { logs: [], traces: {} }])
      expect((await post(empty)).status).toBe(202);
    expect([intake.batches.length, intake.reserved]).toEqual([2, 0]);
  });

  it("leaves out the signals that no pipeline reads", async () => {
    const { intake, post } = await start({}, ["traces"]);
    expect((await post({ logs: [{ message: "a" }], traces: SPANS })).status).toBe(202);
    expect((await post({ logs: [{ message: "a" }] })).status).toBe(202);
    expect(intake.batches.map(({ signal }) => signal)).toEqual(["traces"]);
  });

  it.each([
    ["no JSON", "no", "expected an object"],
    ["a list", [], "expected an object"],
    ["half a payload", '{"logs":[{"message":"a"}', "the JSON ends within a value"],
    ["text behind the payload", "{} x", "expected nothing after the JSON"],
    ["a broken record", '{"logs":[{"message":}]}', "expected valid JSON"],
    ["a list that is none", { logs: {} }, "logs: expected a list"],
    ["a record that is none", { logs: [7] }, "logs[0]: expected an object"],
    ["a message that is none", { logs: [{}, { message: 7 }] }, "logs[1].message: expected a text"],
    ["a context with numbers", { logs: [{ context: { a: 1 } }] }, "logs[0].context.a: expected a text"],
    ["a wrong time", { logs: [{ timestamp: "yesterday" }] }, "logs[0].timestamp: expected a time"],
    ["a day that is none", { logs: [{ timestamp: "2026-02-30T00:00:00Z" }] }, "expected a time"],
    ["a leap day that is none", { logs: [{ timestamp: "2100-02-29T00:00:00Z" }] }, "expected a time"],
    ["a day zero", { logs: [{ timestamp: "2026-02-00T00:00:00Z" }] }, "expected a time"],
    ["a value that is none", { measurements: [{ values: { a: "1" } }] }, "values.a: expected a number"],
    ["a value without a name", { measurements: [{ values: { " ": 1 } }] }, "a name is empty"],
    ["a huge value", '{"measurements":[{"values":{"a":1e999}}]}', "a smaller number"],
    ["a fraction of a line", { exceptions: [{ stacktrace: { frames: [{ lineno: 1.5 }] } }] }, "expected an integer"],
    ["a wrong id", { logs: [{ trace: { trace_id: "xyz" } }] }, "trace_id is no hexadecimal"],
    ["metadata that are none", { meta: [] }, "meta: expected an object"],
    ["deep nesting", `{"logs":[{"context":${"[".repeat(50_000)}`, "failed to parse Faro payload"],
    ["a record that is too long", { logs: [{ message: "a".repeat(1024 * 1024) }] }, "more than 1048576 bytes"],
    ["metadata that are too long", { meta: { user: { id: "a".repeat(1024 * 1024) } } }, "more than 1048576 bytes"],
    ["a record with too many values", { logs: [{ x: Array.from({ length: 10_002 }) }] }, "more than 10000 values"],
    ["too many members", `{${'"a":1,'.repeat(1000)}"b":1}`, "too many members"],
    ["spans that are none", { traces: { resourceSpans: 7 } }, ""],
  ])("refuses %s with 400, and takes nothing of the request", async (_name, payload, message) => {
    const { intake, post } = await start();
    const answer = await post(payload);
    expect(answer.headers.get("content-type")).toBe("application/json");
    expect([answer.status, await answer.json()]).toEqual([
      400,
      { error: "Bad Request", code: 400, message: expect.stringContaining(message) },
    ]);
    expect([intake.batches.length, intake.reserved]).toEqual([0, 0]);
  });

  it("refuses other methods, other types, and what is too large", async () => {
    const { port, post } = await start({ max_request_body_size: 1000 });
    expect((await fetch(`http://127.0.0.1:${port}/faro`)).status).toBe(405);
    expect((await post({}, { "content-type": "text/plain" })).status).toBe(415);
    expect((await post({ logs: [{ message: "a".repeat(1000) }] })).status).toBe(413);
    expect((await post(gzipSync(Buffer.alloc(100_000)), { "content-encoding": "gzip" })).status).toBe(413);
  });

  it("refuses a request that would grow beyond all measure", async () => {
    const { intake, post } = await start();
    const meta = { user: { attributes: { long: "a".repeat(1_000_000) } } };
    const answer = await post({ meta, logs: Array.from({ length: 1000 }, () => ({})) });
    expect([answer.status, await answer.json()]).toEqual([
      400,
      expect.objectContaining({ message: expect.stringContaining("too many records") }),
    ]);
    expect([intake.batches.length, intake.reserved]).toEqual([0, 0]);
  });

  it("answers preflight requests, and names only origins that are allowed", async () => {
    const preflight = (port: number, origin: string) =>
      fetch(`http://127.0.0.1:${port}/faro`, {
        method: "OPTIONS",
        headers: { origin, "access-control-request-method": "POST", connection: "close" },
      });
    const plain = await start();
    const answer = await preflight(plain.port, "https://shop.example");
    expect([answer.status, answer.headers.get("access-control-allow-methods")]).toEqual([200, "POST, OPTIONS"]);
    expect(answer.headers.get("access-control-allow-origin")).toBeNull();
    const { port, post } = await start({ cors: { allowed_origins: ["https://*.example"] } });
    const allowed = await preflight(port, "https://shop.example");
    expect(allowed.headers.get("access-control-allow-origin")).toBe("https://shop.example");
    const other = await preflight(port, "https://evil.test");
    expect(other.headers.get("access-control-allow-origin")).toBeNull();
    const sent = await post({}, { origin: "https://shop.example" });
    expect(sent.headers.get("access-control-allow-origin")).toBe("https://shop.example");
  });

  it("asks clients to retry when there is no room or the pipeline refuses temporarily", async () => {
    const { intake, post } = await start();
    intake.room = 1;
    const full = await post({ logs: [{}] });
    expect([full.status, full.headers.get("retry-after")]).toEqual([503, "1"]);
    intake.room = Number.POSITIVE_INFINITY;
    intake.answer = () => ({ ok: false, refusal: new Refusal("throttled", "later", { retryAfterMs: 3000 }) });
    const later = await post({ logs: [{}] });
    expect([later.status, later.headers.get("retry-after")]).toEqual([429, "3"]);
    expect(await later.json()).toEqual({ error: "Too Many Requests", code: 429, message: "later" });
  });
});

// The suite finds records by an attribute, which only spans can bring along. Log records take the same way.
describe("the faro receiver as a receiver", () => {
  const payload = (batch: Batch) => `{"traces":${batchToJson(batch)}}`;
  const send = async (batch: Batch, port: number): Promise<ClientAnswer> =>
    clientAnswer((await postTo(port, "/faro", payload(batch), JSON_TYPE)).status);
  const sendPart = (batch: Batch, port: number) => postHalf(port, "/faro", Buffer.from(payload(batch)), JSON_TYPE);
  const config = (port: number) => ({ endpoint: `127.0.0.1:${port}` });
  const options = { config, send, sendPart, signals: ["traces" as const], patienceMs };
  for (const { name, run } of receiverConformance(factory, options)) it(name, run);
});
