import { attribute, double, field, fixed64, uint } from "../lib/load/proto.js";

/** What the cells of components are given: requests of OTLP, and a page as a target of Prometheus shows it. */

const START_MS = Date.now() - 60_000;
const POINTS_A_METRIC = 100;
const METHODS = ["GET", "POST", "PUT", "DELETE"];
const STATES = [200, 201, 204, 301, 400, 404, 409, 500, 502, 503];

const nanos = (/** @type {number} */ ms) => BigInt(Math.round(ms)) * 1_000_000n;
const SCOPE = field(1, [field(1, "bench"), field(2, "1.0.0")]);
const SERVICE = field(1, [
  attribute(1, "service.name", "checkout"),
  attribute(1, "service.instance.id", "checkout-7c9f"),
  attribute(1, "host.name", "node-3.internal"),
]);

/** @param {Buffer[]} items */
const request = (items) => field(1, [SERVICE, field(2, [SCOPE, ...items])]);

/** Sums that only grow, a hundred series a metric, four attributes each; `turn` is the time and the value. */
export function sums(/** @type {number} */ series, /** @type {number} */ turn, from = 0) {
  const metrics = [];
  for (let first = from; first < from + series; first += POINTS_A_METRIC) {
    const points = Array.from({ length: Math.min(POINTS_A_METRIC, from + series - first) }, (_, i) =>
      field(1, [
        fixed64(2, nanos(START_MS)),
        fixed64(3, nanos(START_MS + turn * 1000)),
        double(4, first + i + turn * 0.5),
        attribute(7, "http.method", METHODS[i % 4]),
        attribute(7, "http.route", `/api/v2/resource-${first + i}/items`),
        attribute(7, "http.status", STATES[i % 10]),
        attribute(7, "region", "eu-west-1"),
      ]),
    );
    const data = [...points, uint(2, 2), uint(3, 1)];
    metrics.push(
      field(2, [field(1, `http.server.requests.${first / POINTS_A_METRIC}`), field(3, "1"), field(7, data)]),
    );
  }
  return request(metrics);
}

/** Spans of `names` operations, in random order, of ten attributes. */
export function spans(/** @type {number} */ count, /** @type {number} */ names, /** @type {() => number} */ random) {
  return request(
    Array.from({ length: count }, () => {
      const name = Math.floor(random() * names);
      return field(2, [
        field(1, Buffer.from(Array.from({ length: 16 }, () => Math.floor(random() * 256)))),
        field(2, Buffer.from(Array.from({ length: 8 }, () => Math.floor(random() * 256)))),
        field(5, `${METHODS[name % 4]} /api/v2/resource-${name}`),
        uint(6, 2),
        fixed64(7, nanos(START_MS)),
        fixed64(8, nanos(START_MS) + BigInt(Math.floor(random() * 2e9))),
        attribute(9, "http.method", METHODS[name % 4]),
        attribute(9, "http.route", `/api/v2/resource-${name}`),
        attribute(9, "http.status_code", STATES[name % 10]),
        attribute(9, "net.peer.name", "edge-17"),
        attribute(9, "net.peer.port", 51324),
        attribute(9, "user.id", "u-00481516"),
        attribute(9, "region", "eu-west-1"),
        attribute(9, "k8s.pod.name", "pay-7c9f"),
        attribute(9, "retries", 3),
        attribute(9, "tenant", "acme"),
        field(15, uint(3, name % 10 > 6 ? 2 : 0)),
      ]);
    }),
  );
}

/** Log records of twenty streams. */
export function logs(/** @type {number} */ count) {
  return request(
    Array.from({ length: count }, (_, i) =>
      field(2, [
        fixed64(1, nanos(START_MS + i)),
        uint(2, 9),
        field(3, "INFO"),
        field(5, field(1, `payment of 42.00 EUR accepted for order ${i} after 2 attempts; card ending 424`)),
        attribute(6, "http.method", "POST"),
        attribute(6, "http.route", `/api/v2/resource-${i % 20}`),
        attribute(6, "http.code", 200),
        attribute(6, "user.id", "u-00481516"),
      ]),
    ),
  );
}

/** A page of counters in the text format, as many samples, four labels each. */
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

/** The Batch of Jaeger's thrift, in the binary protocol, of spans with ten tags. */
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

/** The same numbers in every run. */
export function seeded(seed = 42) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Samples of the page that is scraped, and series of the exporter that is scraped. */
export const PAGE_SAMPLES = 50_000;
/** Between two scrapes of it; a busy machine needs some of that for one. */
export const SCRAPE_SECONDS = 3;
export const RENDERED_SERIES = 100_000;
