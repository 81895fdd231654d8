import type { Signal } from "../../../src/plugin.js";

/** A receiver of requests of another format than OTLP in protobuf, in pipelines of its own. */
export interface WorstReceiver {
  readonly signals: readonly Signal[];
  /** Its keys, with $ENDPOINT for the address to listen at; default: that as its endpoint. */
  readonly config?: object;
  /** The log line that names its port, and the key that has it; default: port. */
  readonly listening: string;
  readonly portKey?: string;
  /** Default: `/`. */
  readonly path?: string;
  /** Default: `application/json`. */
  readonly type?: string;
  readonly encoding?: "snappy" | "x-snappy-framed" | "lz4";
  /** Whether its requests are compressed already. */
  readonly isPacked?: true;
  readonly requests: Readonly<Record<string, () => string | Buffer>>;
}

const MIB = 1024 * 1024;
/** As much as a request may have. */
const MOST_BYTES = 19 * MIB;
/** As much as a record may have. */
const RECORD_BYTES = MIB - 100;

const fill = (bytes: number, part: string) => part.repeat(bytes / Buffer.byteLength(part));
const list = (count: number, part: string) => Array.from({ length: count }, () => part).join(",");
const members = (count: number, value: string) => Array.from({ length: count }, (_, i) => `"a${i}":${value}`).join(",");
const message = (text: string) => `{"logs":[{"message":"${text}"}]}`;
const numbered = (count: number, part: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => part(i)).join(",");
const hec = (event: string) => `{"event":${event}}`;

const ID = "0af7651916cd43dd";
const zipkinSpan = (more = "") => `{"traceId":"${ID}","id":"${ID}"${more}}`;
const spanList = (spans: string) => `{"resourceSpans":[{"scopeSpans":[{"spans":[${spans}]}]}]}`;
const logList = (records: string) => `{"resourceLogs":[{"scopeLogs":[{"logRecords":[${records}]}]}]}`;
const metricList = (metrics: string) => `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[${metrics}]}]}]}`;
const attribute = (i: number) => `{"key":"k${i}","value":{"intValue":1}}`;

/** A message of protobuf, as a field of another one. */
const field = (number: number, ...parts: readonly (Uint8Array | readonly number[])[]) => {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part)));
  return Buffer.concat([Buffer.from([...varint(number * 8 + 2), ...varint(body.length)]), body]);
};
const varint = (value: number): number[] =>
  value < 128 ? [value] : [(value & 127) | 128, ...varint(Math.floor(value / 128))];
const times = (count: number, part: Buffer) => Buffer.alloc(count * part.length, part);
const each = (count: number, part: (i: number) => Buffer) =>
  Buffer.concat(Array.from({ length: count }, (_, i) => part(i)));
const utf8 = (text: string) => Buffer.from(text);
/** A sample of the value 1 and the time 1. */
const SAMPLE = field(2, [9, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 16, 1]);
const label = (name: string, value: string) => field(1, field(1, utf8(name)), field(2, utf8(value)));
const series = (...parts: readonly Buffer[]) => field(1, ...parts);
/** A span of Zipkin in protobuf: its trace, its id, and more. */
const protoSpan = (...parts: readonly Buffer[]) =>
  field(1, field(1, Buffer.alloc(16, 7)), field(3, Buffer.alloc(8, 9)), ...parts);
/** A list of structs of Jaeger's thrift, and the batch around it. */
const thriftList = (id: number, count: number, struct: Buffer) => {
  const head = Buffer.from([15, 0, id, 12, 0, 0, 0, 0]);
  head.writeUInt32BE(count, 4);
  return Buffer.concat([head, times(count, struct)]);
};
const STOP = Buffer.from([0]);
const jaegerBatch = (count: number, ...span: readonly Buffer[]) =>
  Buffer.concat([Buffer.from([12, 0, 1, 0]), thriftList(2, count, Buffer.concat([...span, STOP])), STOP]);
/** A field of the type string. */
const thriftText = (id: number, text: string) => {
  const head = Buffer.from([11, 0, id, 0, 0, 0, 0]);
  head.writeUInt32BE(text.length, 3);
  return Buffer.concat([head, utf8(text)]);
};
const OTLP = {
  config: { protocols: { http: { endpoint: "$ENDPOINT" } } },
  listening: "listening for OTLP",
  portKey: "http",
} as const;
const REMOTE_WRITE = {
  signals: ["metrics"],
  listening: "listening for remote write",
  path: "/api/v1/write",
  encoding: "snappy",
} as const;

/** Pieces of compressed formats that have no content. */
const SNAPPY_START = Buffer.from("ff060000734e61507059", "hex");
const SNAPPY_PADDING = Buffer.from("fe000000", "hex");
const SNAPPY_NOTHING = Buffer.from("01040000d8ea82a2", "hex");
const LZ4_START = Buffer.from("04224d186050fb", "hex");
const LZ4_NOTHING = Buffer.from("0100000000", "hex");
const LZ4_SKIPPED = Buffer.from("502a4d1800000000", "hex");
const OTLP_LOGS = { ...OTLP, signals: ["logs"], path: "/v1/logs", isPacked: true } as const;
const filled = (part: Buffer) => times(Math.floor(MOST_BYTES / part.length), part);

export const WORST_RECEIVERS: Readonly<Record<string, WorstReceiver>> = {
  faro: {
    signals: ["logs", "traces"],
    listening: "listening for Faro's clients",
    requests: {
      "a text of quotes": () => message(fill(RECORD_BYTES, '\\"')),
      "a text of quotes that is too long": () => message(fill(MOST_BYTES, '\\"')),
      "a text of characters that need six": () => message(fill(RECORD_BYTES, "\x7f")),
      "a text of backspaces": () => message(fill(RECORD_BYTES, "\\b")),
      "a name of blanks": () => `{"logs":[{"context":{"${fill(RECORD_BYTES, " b")}":"c"}}]}`,
      "metadata of quotes for every record": () =>
        `{"meta":{"user":{"id":"${fill(RECORD_BYTES, '\\"')}"}},"logs":[${list(1000, "{}")}]}`,
      "very many members": () => `{${members(MOST_BYTES / 16, "1")}}`,
      "a number without an end": () => `{"logs":${fill(MOST_BYTES, "1")}}`,
      "empty records": () => `{"logs":[${list(300_000, "{}")}]}`,
      "as many values as a record may have": () => `{"measurements":[{"values":{${members(9900, "1.5")}}}]}`,
      "as many frames as a record may have": () => `{"exceptions":[{"stacktrace":{"frames":[${list(9900, "{}")}]}}]}`,
      "metadata that replace words of every record": () =>
        `{"meta":{"app":{"name":"x"},"user":{"attributes":{${members(9900, '"b"')}}}},"measurements":[${list(1000, '{"values":{"app_name":1}}')}]}`,
      "exceptions with varying parts": () =>
        `{"exceptions":[${list(3000, `{"value":"${"https://a ".repeat(400)}"}`)}]}`,
      "deep nesting": () => `{"logs":[{"context":${fill(RECORD_BYTES / 2, "[")}${fill(RECORD_BYTES / 2, "]")}}]}`,
      "resources of one span": () =>
        `{"traces":{"resourceSpans":[${list(100_000, '{"scopeSpans":[{"spans":[{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"b7ad6b7169203331"}]}]}')}]}}`,
    },
  },
  splunk_hec: {
    signals: ["logs", "metrics"],
    listening: "listening for Splunk's clients",
    path: "/services/collector",
    requests: {
      "brackets without an end": () => `{"event":${fill(MOST_BYTES, "[")}`,
      "braces without an end": () => `{"event":${fill(MOST_BYTES, '{"a":')}`,
      "a text without an end": () => `{"event":"${fill(MOST_BYTES, "a")}`,
      "very small events": () => fill(MOST_BYTES, hec("1")),
      "very small events in a list": () => `[${list(900_000, hec("1"))}]`,
      "events of a host each": () => numbered(300_000, (i) => `{"event":1,"host":"${i}"}`),
      "events of several places each": () =>
        numbered(150_000, (i) => `{"event":1,"host":"${i}","source":"${i}","index":"a"}`),
      "an event of many members": () => hec(`{${members(19_000, '"b"')}}`),
      "events of many members": () => fill(MOST_BYTES, hec(`{${members(19_000, "1")}}`)),
      "an event of too many values": () => hec(`[${list(900_000, "1")}]`),
      "a long text of quotes": () => hec(`"${fill(4 * MIB - 100, '\\"')}"`),
      "a text that is too long": () => hec(`"${fill(MOST_BYTES, '\\"')}"`),
      "metrics with many dimensions": () =>
        `{"event":"metric","fields":{${members(4000, '"b"')},${numbered(4000, (i) => `"metric_name:m${i}":1`)}}}`,
    },
  },
  "splunk_hec/raw": {
    signals: ["logs"],
    listening: "listening for Splunk's clients",
    path: "/services/collector/raw",
    requests: {
      "very short lines": () => fill(900_000 * 2, "a\n"),
      "empty lines": () => fill(900_000, "\n"),
      "text that is no UTF-8": () => Buffer.alloc(MOST_BYTES, 0xff),
      "one long line": () => fill(MOST_BYTES, "a"),
    },
  },
  webhook_event: {
    signals: ["logs"],
    config: { endpoint: "$ENDPOINT", path: "/", max_request_body_size: MOST_BYTES, split_logs_at_newline: true },
    listening: "listening for webhooks",
    requests: {
      "very short lines": () => fill(900_000 * 2, "a\n"),
      "one long line": () => fill(MOST_BYTES, "a"),
      "text that is no UTF-8": () => Buffer.alloc(MOST_BYTES, 0xff),
    },
  },
  "webhook_event/values": {
    signals: ["logs"],
    config: { endpoint: "$ENDPOINT", path: "/", max_request_body_size: MOST_BYTES, split_logs_at_json_boundary: true },
    listening: "listening for webhooks",
    requests: {
      "very small values": () => fill(900_000 * 2, "1 "),
      "brackets without an end": () => fill(MOST_BYTES, "["),
      "one large value": () => `[${list(MOST_BYTES / 2, "1")}]`,
      "values of as much as is parsed": () => fill(MOST_BYTES, `[${list(500_000, "1")}]`),
    },
  },
  zipkin: {
    signals: ["traces"],
    listening: "listening for Zipkin",
    path: "/api/v2/spans",
    requests: {
      "very small spans": () => `[${list(400_000, zipkinSpan())}]`,
      "spans of a service each": () =>
        `[${numbered(150_000, (i) => zipkinSpan(`,"localEndpoint":{"serviceName":"${i}"}`))}]`,
      "a span of many tags": () => `[${zipkinSpan(`,"tags":{${members(19_000, '"b"')}}`)}]`,
      "spans of many tags": () => `[${list(60, zipkinSpan(`,"tags":{${members(19_000, '"b"')}}`))}]`,
      "spans of many annotations": () =>
        `[${list(30, zipkinSpan(`,"annotations":[${list(9000, '{"timestamp":1,"value":"a|{\\"b\\":1}|0"}')}]`))}]`,
      "a span of too many values": () => `[${zipkinSpan(`,"tags":{${members(600_000, '"b"')}}`)}]`,
      "brackets without an end": () => fill(MOST_BYTES, "["),
      "a text without an end": () => `["${fill(MOST_BYTES, "a")}`,
    },
  },
  "zipkin/v1": {
    signals: ["traces"],
    listening: "listening for Zipkin",
    path: "/api/v1/spans",
    requests: {
      "very small spans": () => `[${list(400_000, zipkinSpan())}]`,
      "spans of a service each": () =>
        `[${numbered(100_000, (i) => zipkinSpan(`,"binaryAnnotations":[{"key":"lc","value":"w","endpoint":{"serviceName":"${i}"}}]`))}]`,
      "spans of many annotations": () =>
        `[${list(40, zipkinSpan(`,"annotations":[${list(9000, '{"timestamp":1,"value":"sr"}')}]`))}]`,
    },
  },
  "zipkin/proto": {
    signals: ["traces"],
    listening: "listening for Zipkin",
    path: "/api/v2/spans",
    type: "application/x-protobuf",
    requests: {
      "very small spans": () => times(600_000, protoSpan()),
      "spans of a service each": () => each(300_000, (i) => protoSpan(field(8, field(1, utf8(`s${i}`))))),
      "a span of very many tags": () =>
        protoSpan(each(800_000, (i) => field(11, field(1, utf8(`k${i}`)), field(2, utf8("v"))))),
      "a span of very many annotations": () => protoSpan(times(1_000_000, field(10, field(2, utf8("a"))))),
    },
  },
  "prometheus_remote_write/v1": {
    ...REMOTE_WRITE,
    type: "application/x-protobuf",
    requests: {
      "series of one sample": () => each(250_000, (i) => series(label("__name__", `m${i}`), SAMPLE)),
      "series of a job each": () => each(200_000, (i) => series(label("__name__", "m"), label("job", `j${i}`), SAMPLE)),
      "a series of very many samples": () => series(label("__name__", "m"), times(900_000, SAMPLE)),
      "a series of very many labels": () =>
        series(
          each(700_000, (i) => label(`l${i}`, "v")),
          SAMPLE,
        ),
      "series of many labels": () =>
        times(
          60,
          series(
            each(9000, (i) => label(`l${i}`, "v")),
            SAMPLE,
          ),
        ),
      "series of many exemplars": () =>
        times(30, series(label("__name__", "m_total"), SAMPLE, times(9000, field(3, label("trace_id", "a"))))),
      "empty series": () => times(MOST_BYTES / 2, series()),
    },
  },
  "prometheus_remote_write/v2": {
    ...REMOTE_WRITE,
    type: "application/x-protobuf;proto=io.prometheus.write.v2.Request",
    requests: {
      "very many symbols": () => each(900_000, (i) => field(4, utf8(`s${i}`))),
      "series of one sample": () =>
        Buffer.concat([
          ...["", "__name__", "m"].map((text) => field(4, utf8(text))),
          times(600_000, field(5, field(1, [1, 2]), SAMPLE)),
        ]),
      "a series of very many labels": () =>
        Buffer.concat([
          ...["", "a", "b"].map((text) => field(4, utf8(text))),
          field(5, field(1, Buffer.alloc(99_000, 1))),
        ]),
      "series of very many labels": () =>
        Buffer.concat([
          ...["", "a", "b"].map((text) => field(4, utf8(text))),
          times(180, field(5, field(1, Buffer.alloc(99_000, 1)), SAMPLE)),
        ]),
    },
  },
  "otlp/logs": {
    ...OTLP,
    signals: ["logs"],
    path: "/v1/logs",
    requests: {
      "empty records": () => logList(list(900_000, "{}")),
      "records with attributes": () => logList(list(60_000, `{"attributes":[${numbered(8, attribute)}]}`)),
      "a record of as many attributes as it may have": () => logList(`{"attributes":[${numbered(9900, attribute)}]}`),
      "a record of more attributes": () => logList(`{"attributes":[${numbered(480_000, attribute)}]}`),
      "records of many attributes": () => logList(list(40, `{"attributes":[${numbered(9900, attribute)}]}`)),
      "a resource for each record": () => `{"resourceLogs":[${list(250_000, '{"scopeLogs":[{"logRecords":[{}]}]}')}]}`,
      "a long text of quotes": () => logList(`{"body":{"stringValue":"${fill(MOST_BYTES, '\\"')}"}}`),
      "a long text of escapes": () => logList(`{"body":{"stringValue":"${fill(MOST_BYTES, "\\u00e4")}"}}`),
      "members that nobody knows": () => `{${members(1_200_000, "1")}}`,
      "a member that is written again and again": () => `{${list(700_000, '"resourceLogs":[{}]')}}`,
      "a record that is written again and again": () =>
        logList(`{${list(300_000, '"body":{"stringValue":"a"}')},"body":{"stringValue":"b"}}`),
      "brackets without an end": () => `{"a":${fill(MOST_BYTES, "[")}`,
      "text that is no UTF-8": () =>
        Buffer.concat([utf8('{"resourceLogs":[{"schemaUrl":"'), Buffer.alloc(MOST_BYTES, 0xff), utf8('"}]}')]),
      "lists in lists": () => logList(`{"body":${'{"arrayValue":{"values":['.repeat(60)}${"]}}".repeat(60)}}`),
    },
  },
  "otlp/snappy": {
    ...OTLP_LOGS,
    encoding: "x-snappy-framed",
    requests: {
      "beginnings of streams": () => filled(SNAPPY_START),
      padding: () => Buffer.concat([SNAPPY_START, filled(SNAPPY_PADDING)]),
      "chunks of nothing": () => Buffer.concat([SNAPPY_START, filled(SNAPPY_NOTHING)]),
    },
  },
  "otlp/lz4": {
    ...OTLP_LOGS,
    encoding: "lz4",
    requests: {
      "blocks of nothing": () => Buffer.concat([LZ4_START, filled(LZ4_NOTHING)]),
      "frames to skip": () => filled(LZ4_SKIPPED),
      "frames of nothing": () => filled(Buffer.concat([LZ4_START, Buffer.alloc(4)])),
    },
  },
  "otlp/traces": {
    ...OTLP,
    signals: ["traces"],
    path: "/v1/traces",
    requests: {
      "very small spans": () => spanList(list(250_000, `{"traceId":"${ID}${ID}","spanId":"${ID}"}`)),
      "as many events as a span may have": () =>
        spanList(`{"traceId":"${ID}${ID}","spanId":"${ID}","events":[${list(9900, "{}")}]}`),
      "more events than a span may have": () =>
        spanList(`{"traceId":"${ID}${ID}","spanId":"${ID}","events":[${list(900_000, "{}")}]}`),
    },
  },
  "otlp/metrics": {
    ...OTLP,
    signals: ["metrics"],
    path: "/v1/metrics",
    requests: {
      "metrics of one point": () => metricList(list(250_000, '{"name":"m","gauge":{"dataPoints":[{"asDouble":1}]}}')),
      "a metric of very many points": () =>
        metricList(`{"name":"m","gauge":{"dataPoints":[${list(700_000, '{"asDouble":1.5}')}]}}`),
      "points of as many buckets as they may have": () =>
        metricList(
          list(
            50,
            `{"name":"m","histogram":{"dataPoints":[{"explicitBounds":[${list(4900, "1")}],"bucketCounts":[${list(4901, '"1"')}]}]}}`,
          ),
        ),
      "a point of more buckets": () =>
        metricList(`{"name":"m","histogram":{"dataPoints":[{"bucketCounts":[${list(4_000_000, '"1"')}]}]}}`),
    },
  },
  jaeger: {
    signals: ["traces"],
    config: { protocols: { thrift_http: { endpoint: "$ENDPOINT" } } },
    listening: "listening for Jaeger",
    portKey: "thrift_http",
    path: "/api/traces",
    type: "application/x-thrift",
    requests: {
      "very small spans": () => jaegerBatch(900_000),
      "spans of many tags": () => jaegerBatch(80, thriftList(10, 9000, Buffer.concat([thriftText(1, "key"), STOP]))),
      "a span of very many tags": () =>
        jaegerBatch(1, thriftList(10, 900_000, Buffer.concat([thriftText(1, "key"), STOP]))),
      "a span of very many events": () => jaegerBatch(1, thriftList(11, 900_000, STOP)),
      "a span of very many references": () => jaegerBatch(1, thriftList(6, 900_000, STOP)),
    },
  },
};
