import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { sentryExporter } from "../../../../src/exporters/alerts/sentry/component.js";
import { parseDsn } from "../../../../src/exporters/alerts/sentry/config.js";
import { type Batch, batchFromJson, type Exporter, type Signal } from "../../../../src/plugin.js";
import { never, refusalOf, type Sink, startExporter, startSink } from "../../harness.js";

let sink: Sink;
let exporter: Exporter;
beforeEach(async () => {
  sink = await startSink();
  const dsn = `http://abc123@127.0.0.1:${sink.port}/base/42`;
  exporter = await startExporter(sentryExporter, { dsn, allow_private_addresses: true, tags: { team: "pay" } });
});
afterEach(async () => {
  await exporter.stop?.();
  await sink.close();
});

const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });
const RESOURCE = [
  text("service.name", "shop"),
  text("service.version", "1.2.3"),
  text("deployment.environment.name", "prod"),
  text("telemetry.sdk.language", "nodejs"),
  text("host.name", "h1"),
];
const TRACE = { traceId: "0102030405060708090a0b0c0d0e0f10", spanId: "0102030405060708" };

function batch(signal: Signal, records: object[], resource = RESOURCE): Batch {
  const [list, scopes, name] =
    signal === "logs"
      ? ["resourceLogs", "scopeLogs", "logRecords"]
      : signal === "traces"
        ? ["resourceSpans", "scopeSpans", "spans"]
        : ["resourceMetrics", "scopeMetrics", "metrics"];
  const tree = {
    [list!]: [{ resource: { attributes: resource }, [scopes!]: [{ scope: { name: "orders" }, [name!]: records }] }],
  };
  return batchFromJson(signal, JSON.stringify(tree));
}

/** The received envelopes, each as its three lines. */
function envelopes() {
  return sink.requests.map(({ body }) => {
    const [head, item, payload, rest] = body.toString().split("\n");
    expect(rest).toBe("");
    const parsed = { head: JSON.parse(head!), item: JSON.parse(item!), event: JSON.parse(payload!) };
    expect(parsed.item).toEqual({
      type: "event",
      content_type: "application/json",
      length: Buffer.byteLength(payload!),
    });
    expect(parsed.event.event_id).toBe(parsed.head.event_id);
    expect(parsed.event.event_id).toMatch(/^[0-9a-f]{32}$/);
    return parsed;
  });
}

const events = () => envelopes().map(({ event }) => event);

describe("Sentry", () => {
  it("gets an error log record in an envelope, with the details of its service", async () => {
    const record = {
      ...TRACE,
      severityNumber: 17,
      timeUnixNano: "1700000000000000000",
      body: { stringValue: "no money" },
    };
    await exporter.send(batch("logs", [{ ...record, attributes: [text("order", "7")] }]), never);
    expect(sink.requests[0]).toMatchObject({
      path: "/base/api/42/envelope/",
      headers: {
        "content-type": "application/x-sentry-envelope",
        "x-sentry-auth": expect.stringMatching(/^Sentry sentry_version=7, sentry_client=\S+, sentry_key=abc123$/),
      },
    });
    expect(events()[0]).toMatchObject({
      level: "error",
      logger: "orders",
      platform: "node",
      message: { formatted: "no money" },
      timestamp: "2023-11-14T22:13:20.000Z",
      ...{ environment: "prod", release: "1.2.3", server_name: "h1" },
      tags: { "service.name": "shop", team: "pay" },
      extra: { order: "7" },
      contexts: { trace: { trace_id: TRACE.traceId, span_id: TRACE.spanId } },
    });
  });

  it("gets exceptions of log records and spans, and failed spans, but nothing else", async () => {
    const exception = [
      text("exception.type", "TypeError"),
      text("exception.message", "x is not a function"),
      text("exception.stacktrace", "at y"),
    ];
    await exporter.send(
      batch("logs", [
        { severityNumber: 9, body: { stringValue: "fine" } },
        { attributes: exception },
        { severityNumber: 21 },
      ]),
      never,
    );
    await exporter.send(
      batch("traces", [
        { ...TRACE, name: "well", status: { code: 1 } },
        { ...TRACE, name: "GET /x", kind: 2, status: { code: 2, message: "boom" } },
        { ...TRACE, name: "caught", events: [{ name: "exception", attributes: exception }] },
      ]),
      never,
    );
    const [logged, fatal, failed, caught] = events();
    expect(logged.exception.values).toEqual([{ type: "TypeError", value: "x is not a function" }]);
    expect(logged.extra["exception.stacktrace"]).toBe("at y");
    expect(fatal.level).toBe("fatal");
    expect(failed).toMatchObject({ transaction: "GET /x", message: { formatted: "GET /x: boom" }, level: "error" });
    expect(caught.exception.values[0].type).toBe("TypeError");
    expect(sink.requests.length).toBe(4);
  });

  it("gets one event for a dead letter, with the reason of the failure and nothing of its content", async () => {
    const letter = Object.entries({
      id: "e-1",
      exporter: "otlp_http",
      reason: "permanent",
      category: "schema",
      error: "HTTP 400",
      message: "HTTP 400: bad",
      signature: "abc",
      failed_at: "2026-01-01T00:00:00.000Z",
    });
    const resource = [...RESOURCE, ...letter.map(([key, value]) => text(`sluice.dead_letter.${key}`, value))];
    await exporter.send(
      batch("logs", [{ body: { stringValue: "private" } }, { body: { stringValue: "private" } }], resource),
      never,
    );
    const points = [{ asInt: "1", timeUnixNano: "1" }];
    await exporter.send(batch("metrics", [{ name: "m", gauge: { dataPoints: points } }], resource), never);
    expect(events().length).toBe(2);
    expect(events()[0]).toMatchObject({
      message: { formatted: "2 records of otlp_http could not be delivered (permanent): HTTP 400: bad" },
      fingerprint: ["sluice", "abc"],
      timestamp: "2026-01-01T00:00:00.000Z",
      tags: {
        exporter: "otlp_http",
        reason: "permanent",
        category: "schema",
        error_class: "HTTP 400",
        "service.name": "shop",
      },
    });
    expect(sink.requests.map(({ body }) => body.toString()).join()).not.toContain("private");
  });

  it("recognises a repeated event by its id", async () => {
    const record = batch("logs", [{ severityNumber: 17, body: { stringValue: "x" } }]);
    for (const idempotencyKey of ["e-1", "e-1", "e-2"]) await exporter.send(record, never, { idempotencyKey });
    const [one, again, other] = events().map(({ event_id }) => event_id);
    expect(again).toBe(one);
    expect(other).not.toBe(one);
  });

  it("may ask for a pause", async () => {
    sink.respond = (response) => response.writeHead(429, { "retry-after": "30" }).end();
    const refusal = await refusalOf(exporter.send(batch("logs", [{ severityNumber: 17 }]), never));
    expect(refusal).toMatchObject({ kind: "throttled", retryAfterMs: 30_000 });
  });
});

it.each([
  ["https://abc@o1.ingest.sentry.io/2", "https://o1.ingest.sentry.io/api/2/envelope/"],
  ["https://abc:secret@sentry.example.com:9000/a/b/2", "https://sentry.example.com:9000/a/b/api/2/envelope/"],
  ["https://o1.ingest.sentry.io/2", undefined],
  ["https://abc@o1.ingest.sentry.io/", undefined],
  ["abc", undefined],
])("reads the DSN %s", (dsn, url) => {
  expect(parseDsn(dsn)?.url.href).toBe(url);
});
