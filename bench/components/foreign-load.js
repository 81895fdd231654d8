import { METHODS, POINTS_A_METRIC, START_MS, STATES } from "./load.js";

/** Data in the formats of other systems: Prometheus pages, Jaeger's thrift, Fluentd's events, syslog lines. */

/** A page of counters in the text format with this many samples, four labels each. */
export function page(/** @type {number} */ samples, /** @type {number} */ turn) {
  const lines = [];
  for (let i = 0; i < samples; i++) {
    const family = Math.floor(i / POINTS_A_METRIC);
    if (i % POINTS_A_METRIC === 0) {
      lines.push(`# HELP http_requests_${family}_total Requests by route.`);
      lines.push(`# TYPE http_requests_${family}_total counter`);
    }
    const labels = `method="${METHODS[i % 4]}",route="/api/v2/resource-${i}/items",status="${STATES[i % 10]}",region="eu-west-1"`;
    lines.push(`http_requests_${family}_total{${labels}} ${i + turn * 0.5}`);
  }
  return Buffer.from(`${lines.join("\n")}\n`);
}

/** A Batch in Jaeger's thrift binary protocol; its spans have ten tags. */
export function thriftBatch(/** @type {number} */ count) {
  const string = (/** @type {string} */ text) => Buffer.concat([int(4, text.length), Buffer.from(text)]);
  const text = (/** @type {number} */ id, /** @type {string} */ value) => thrift(11, id, string(value));
  const tag = (/** @type {string} */ key, /** @type {string | number} */ value) => [
    text(1, key),
    ...(typeof value === "string"
      ? [thrift(8, 2, int(4, 0)), text(3, value)]
      : [thrift(8, 2, int(4, 3)), thrift(10, 6, int(8, value))]),
    STOP,
  ];
  const list = (/** @type {Buffer[][]} */ items) =>
    Buffer.concat([Buffer.of(12), int(4, items.length), ...items.flat()]);
  const one = (/** @type {number} */ i) => [
    thrift(10, 1, int(8, 4711 + i)),
    thrift(10, 2, int(8, 815)),
    thrift(10, 3, int(8, i + 1)),
    thrift(10, 4, int(8, 0)),
    text(5, `POST /api/v2/resource-${i % 100}`),
    thrift(8, 7, int(4, 1)),
    thrift(10, 8, int(8, START_MS * 1000)),
    thrift(10, 9, int(8, 1500 + i)),
    thrift(
      15,
      10,
      list([
        tag("span.kind", "server"),
        tag("http.method", "POST"),
        tag("http.route", `/api/v2/resource-${i % 100}`),
        tag("http.status_code", 200),
        tag("net.peer.name", "edge-17"),
        tag("net.peer.port", 51324),
        tag("user.id", "u-00481516"),
        tag("region", "eu-west-1"),
        tag("k8s.pod.name", "pay-7c9f"),
        tag("tenant", "acme"),
      ]),
    ),
    STOP,
  ];
  const process = [text(1, "checkout"), thrift(15, 2, list([tag("host.name", "node-3.internal")])), STOP];
  const all = Array.from({ length: count }, (_, i) => one(i));
  return Buffer.concat([thrift(12, 1, Buffer.concat(process)), thrift(15, 2, list(all)), STOP]);
}

const STOP = Buffer.of(0);

function int(/** @type {number} */ size, /** @type {number} */ value) {
  const bytes = Buffer.alloc(size);
  if (size === 8) bytes.writeBigInt64BE(BigInt(value));
  else bytes.writeInt32BE(value);
  return bytes;
}

function thrift(/** @type {number} */ type, /** @type {number} */ id, /** @type {Buffer} */ value) {
  return Buffer.concat([Buffer.of(type, id >> 8, id & 255), value]);
}

/** An event of Fluentd's forward protocol as Fluent Bit sends it: packed entries, with a chunk to be acknowledged. */
export function forwardEvent(/** @type {number} */ count) {
  const entries = Array.from({ length: count }, (_, i) =>
    Buffer.concat([
      Buffer.of(0x92, 0xd7, 0x00),
      int(4, Math.floor(START_MS / 1000)),
      int(4, i * 1000),
      map([
        ["log", `payment of 42.00 EUR accepted for order ${i} after 2 attempts; card ending 424`],
        ["stream", "stdout"],
        ["container_name", "/checkout-7c9f"],
        ["container_id", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"],
        ["level", "info"],
        ["attempt", i % 5],
      ]),
    ]),
  );
  const packed = Buffer.concat(entries);
  const options = map([["chunk", CHUNK]]);
  return Buffer.concat([
    Buffer.of(0x93),
    packedText("docker.checkout"),
    Buffer.of(0xc6),
    int(4, packed.length),
    packed,
    options,
  ]);
}

const CHUNK = "p8n9gmxTQVC8/nh2wlKKeQ==";
/** The response to such an event. */
export const FORWARD_ANSWER = map([["ack", CHUNK]]);

function map(/** @type {[string, string | number][]} */ entries) {
  const values = entries.flatMap(([key, value]) => [
    packedText(key),
    typeof value === "string" ? packedText(value) : Buffer.of(value),
  ]);
  return Buffer.concat([Buffer.of(0x80 | entries.length), ...values]);
}

function packedText(/** @type {string} */ text) {
  const head = text.length < 32 ? Buffer.of(0xa0 | text.length) : Buffer.of(0xd9, text.length);
  return Buffer.concat([head, Buffer.from(text)]);
}

/** Lines of a plain log, and of syslog in RFC 5424 format. */
export const plainLine = (/** @type {number} */ i) =>
  `2024-05-06T07:08:09.${String(i % 1000).padStart(3, "0")}Z INFO cart request ${i} handled in ${i % 97}ms for customer c${i * 7} with status 200 ok`;
export const syslogLine = (/** @type {number} */ i) =>
  `<165>1 2024-05-06T07:08:09.${String(i % 1000).padStart(3, "0")}Z node-3.internal checkout ${1000 + (i % 9)} ID47 [origin ip="10.0.0.7" seq="${i}"] request ${i} handled in ${i % 97}ms for customer c${i * 7}`;
