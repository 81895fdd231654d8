import { readFileSync } from "node:fs";
import { postSpansOf } from "../../../src/exporters/jaeger/post-spans.js";
import { type Batch, batchFromJson, isMalformed } from "../../../src/plugin.js";
import { SegmentBatch } from "../../../src/receivers/aws-xray/segment-batch.js";
import { CompactProtocol } from "../../../src/receivers/otlp/jaeger/compact-protocol.js";
import { batchOfMessage, JAEGER_FORMAT } from "../../../src/receivers/otlp/jaeger/format.js";
import { JsonSpanList, ZipkinRequest } from "../../../src/receivers/zipkin/format.js";
import { ZipkinBatchWriter } from "../../../src/receivers/zipkin/from-zipkin.js";
import { ZipkinV1Batch } from "../../../src/receivers/zipkin/from-zipkin-v1.js";
import { ProtoSpanList } from "../../../src/receivers/zipkin/read-proto.js";
import { atOnce } from "../../../src/runtime/work/door.js";
import { assert, type FuzzTarget, magnitude, shapeOf } from "../fuzz.js";
import { holdToOtlp } from "../hold-to-otlp.js";
import { mutateBytes } from "../mutate-bytes.js";
import { textMutator } from "../mutate-text.js";
import { mutateWire } from "../mutate-wire.js";
import { richJson } from "./rich-json.js";

const PACKETS = JSON.parse(
  readFileSync(new URL("../../receivers/otlp/jaeger/packets.json", import.meta.url), "utf8"),
) as Record<string, string[]>;
const packets = (name: string) => PACKETS[name]!.map((each) => Buffer.from(each, "base64"));
const MAX_ELEMENTS = 5000;

function jaegerBatch(encoding: "other" | "proto", input: Buffer): Batch {
  const made = JAEGER_FORMAT.toBatch("traces", encoding, [input], MAX_ELEMENTS);
  return "next" in made ? atOnce(made) : made;
}

const jaegerTargets: readonly FuzzTarget[] = [
  {
    name: "Jaeger's compact thrift",
    share: 4,
    seeds: [...packets("compact"), ...packets("legacyCompact")],
    mutate: mutateBytes,
    run: (input) => runSpans(() => batchOfMessage(new CompactProtocol(input, MAX_ELEMENTS), MAX_ELEMENTS)),
  },
  {
    name: "Jaeger's binary thrift",
    share: 4,
    seeds: packets("http"),
    mutate: mutateBytes,
    run: (input) => runSpans(() => jaegerBatch("other", input)),
  },
  {
    name: "Jaeger's protobuf",
    share: 4,
    seeds: postSpansOf(batchFromJson("traces", richJson("traces")).bytes).requests.map((request) =>
      Buffer.from(request.message()),
    ),
    mutate: mutateWire,
    run: (input) => runSpans(() => jaegerBatch("proto", input)),
  },
];

/** A span with every field, as ListOfSpans. */
const ZIPKIN_PROTO = Buffer.from(
  "Co8BChBGOsNcn2QTrUhIWjlTu2EkEggAIAAAAAAAARoIovtKHRqW0xIgAioJR0VUIC9DYXJ0MQBAHhgkCgYAONwLQg8KBHNob3ASBAoAAAEgkD9KGAoBQhoQIAENuAAAAAAAAAAAAADAASC7A1IPCWRAHhgkCgYAEgRtaXNzWhIKC2h0dHAubWV0aG9kEgNHRVQ=",
  "base64",
);

const ZIPKIN_SPAN = {
  traceId: "0102030405060708090a0b0c0d0e0f10",
  id: "0102030405060708",
  parentId: "0807060504030201",
  name: "get /",
  kind: "SERVER",
  timestamp: 1_700_000_000_000_000,
  duration: 1500,
  localEndpoint: { serviceName: "shop", ipv4: "10.0.0.1", port: 80 },
  remoteEndpoint: { ipv6: "::1" },
  annotations: [{ timestamp: 1_700_000_000_000_100, value: "ws" }],
  tags: { "http.status_code": "500", error: "true", "otel.scope.name": "lib" },
  shared: true,
};

const { annotations: _, ...PLAIN_SPAN } = ZIPKIN_SPAN;

const zipkinTarget: FuzzTarget = {
  name: "Zipkin's JSON",
  share: 4,
  seeds: [
    Buffer.from(JSON.stringify([ZIPKIN_SPAN])),
    Buffer.from(JSON.stringify([PLAIN_SPAN, PLAIN_SPAN, { ...PLAIN_SPAN, kind: "CLIENT", parentId: "2" }])),
    Buffer.from("[]"),
  ],
  mutate: textMutator([
    ...'{}[]:,"',
    "null",
    "true",
    "[]",
    "{}",
    "\\u0000",
    '"tags":{',
    '"traceId":',
    '"kind":"CLIENT",',
  ]),
  run: (input) => {
    runSpans(() => parsedSpans(input, true));
    const outcome = runSpans(() => readSpans(input));
    const [scanned, parsed] = [readSpans, (json: Buffer) => parsedSpans(json, false)].map((read) =>
      bytesOf(read, input),
    );
    assert(scanned === parsed, "spans differ when they are scanned and when they are parsed");
    return outcome;
  },
};

const ZIPKIN_V1_SPAN = {
  traceId: "0102030405060708",
  id: "0102030405060708",
  name: "get /",
  annotations: [{ timestamp: 1_700_000_000_000_100, value: "sr", endpoint: { serviceName: "shop", port: 80 } }],
  binaryAnnotations: [
    { key: "lc", value: "worker" },
    { key: "http.status_code", value: "500" },
  ],
};

const otherZipkinTargets: readonly FuzzTarget[] = [
  {
    name: "Zipkin's JSON of version 1",
    share: 2,
    seeds: [Buffer.from(JSON.stringify([ZIPKIN_V1_SPAN])), Buffer.from("[]")],
    mutate: textMutator([...'{}[]:,"', "null", "true", "[]", "{}", '"annotations":[', '"endpoint":{}', '"id":"']),
    run: (json) =>
      runSpans(() => {
        const batch = new ZipkinV1Batch(false, () => 1);
        const list = new JsonSpanList(json);
        for (let i = 0; list.hasNext(); i++) batch.add(list.reader.next(), i);
        return batch.finish();
      }),
  },
  {
    name: "Zipkin's protobuf",
    share: 2,
    seeds: [ZIPKIN_PROTO, Buffer.alloc(0)],
    mutate: mutateWire,
    run: (bytes) =>
      runSpans(() => {
        const writer = new ZipkinBatchWriter(false);
        const list = new ProtoSpanList(bytes);
        for (let i = 0, span = list.next(); span !== undefined; span = list.next()) writer.add(span, i++);
        return writer.finish();
      }),
  },
];

const XRAY_SEGMENT = {
  name: "shop",
  id: "defdfd9912dc5a56",
  start_time: 1.5,
  trace_id: "1-5f84c7a1-e7d1852db8c4fd35d88bf49a",
  http: { request: { method: "GET", client_ip: "10.0.0.1" }, response: { status: 500, content_length: 7 } },
  cause: { exceptions: [{ id: "a", message: "m", stack: [{ label: "f", line: 3 }] }] },
  aws: { operation: "Get", retries: 1, ec2: { instance_id: "i" }, xray: { sdk: "X-Ray for Go" } },
  annotations: { a: 1, b: "c" },
  metadata: { default: { z: [1, { y: null }] } },
  subsegments: [
    { name: "db", id: "a".repeat(16), start_time: 2, namespace: "remote", sql: { url: "mysql://host/shop?a=b" } },
  ],
};

const xrayTarget: FuzzTarget = {
  name: "segments of X-Ray",
  share: 2,
  seeds: [Buffer.from(`{"format":"json","version":1}\n${JSON.stringify(XRAY_SEGMENT)}`)],
  mutate: textMutator([...'{}[]:,"\n', "null", "1e30", "-1", "[]", "{}", '"url":"a:', '"subsegments":[', '"cause":"']),
  run: (packet) =>
    runSpans(() => {
      const batch = new SegmentBatch();
      batch.add(packet);
      return batch.finish();
    }),
};

function readSpans(json: Buffer): Batch {
  const request = new ZipkinRequest(json, false);
  while (request.addNext());
  return request.finish();
}

function parsedSpans(json: Buffer, parsesTags: boolean): Batch {
  const writer = new ZipkinBatchWriter(parsesTags);
  const list = new JsonSpanList(json);
  for (let i = 0; list.hasNext(); i++) writer.add(list.reader.next(), i);
  return writer.finish();
}

function bytesOf(read: (json: Buffer) => Batch, json: Buffer): string {
  try {
    return Buffer.from(read(json).bytes).toString("base64");
  } catch (error) {
    return `${error}`;
  }
}

function runSpans(read: () => Batch): string {
  let batch: Batch;
  try {
    batch = read();
  } catch (error) {
    assert(isMalformed(error), `threw ${error}`);
    return shapeOf((error as Error).message);
  }
  holdToOtlp(batch);
  return `${magnitude(batch.count)} spans in ${magnitude(batch.byteLength)}`;
}

/** Spans in other formats than OTLP. */
export const spanTargets: readonly FuzzTarget[] = [...jaegerTargets, zipkinTarget, ...otherZipkinTargets, xrayTarget];
