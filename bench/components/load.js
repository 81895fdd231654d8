import { attribute, double, field, fixed64, uint } from "../lib/load/proto.js";

/** Input for the component cells: OTLP requests, and a page of a Prometheus target. */

export const START_MS = Date.now() - 60_000;
export const POINTS_A_METRIC = 100;
export const METHODS = ["GET", "POST", "PUT", "DELETE"];
export const STATES = [200, 201, 204, 301, 400, 404, 409, 500, 502, 503];

const nanos = (/** @type {number} */ ms) => BigInt(Math.round(ms)) * 1_000_000n;
const SCOPE = field(1, [field(1, "bench"), field(2, "1.0.0")]);
const SERVICE = field(1, [
  attribute(1, "service.name", "checkout"),
  attribute(1, "service.instance.id", "checkout-7c9f"),
  attribute(1, "host.name", "node-3.internal"),
]);

/** @param {Buffer[]} items */
const request = (items) => field(1, [SERVICE, field(2, [SCOPE, ...items])]);

/**
 * Growing sums, a hundred series per metric, four attributes each; `turn` is the time and the value. They are
 * cumulative (2) or deltas (1).
 */
export function sums(/** @type {number} */ series, /** @type {number} */ turn, from = 0, temporality = 2) {
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
    const data = [...points, uint(2, temporality), uint(3, 1)];
    metrics.push(
      field(2, [field(1, `http.server.requests.${first / POINTS_A_METRIC}`), field(3, "1"), field(7, data)]),
    );
  }
  return request(metrics);
}

/** Spans of `names` operations in random order, with ten attributes. */
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

/** Moves the points in these bytes a second forward with each call. */
export function growing(/** @type {Buffer} */ bytes, /** @type {number} */ turn) {
  const time = Buffer.alloc(8);
  time.writeBigUInt64LE(nanos(START_MS + turn * 1000));
  const places = [];
  for (let at = bytes.indexOf(time); at >= 0; at = bytes.indexOf(time, at + 8)) places.push(at);
  let next = nanos(START_MS + turn * 1000);
  return () => {
    next += 1_000_000_000n;
    for (const at of places) bytes.writeBigUInt64LE(next, at);
  };
}

/** Requests between two services: a client span and a server span each. */
export function calls(/** @type {number} */ count, /** @type {() => number} */ random) {
  const id = (/** @type {number} */ size) =>
    Buffer.from(Array.from({ length: size }, () => Math.floor(random() * 256)));
  const ids = Array.from({ length: count }, () => ({ trace: id(16), client: id(8), server: id(8) }));
  const span = (
    /** @type {number} */ kind,
    /** @type {Buffer} */ trace,
    /** @type {Buffer} */ own,
    parent = Buffer.alloc(0),
  ) =>
    field(2, [
      field(1, trace),
      field(2, own),
      ...(parent.length > 0 ? [field(4, parent)] : []),
      field(5, "GET /api/v2/carts"),
      uint(6, kind),
      fixed64(7, nanos(START_MS)),
      fixed64(8, nanos(START_MS) + BigInt(Math.floor(random() * 2e9))),
      attribute(9, "http.method", "GET"),
      attribute(9, "http.status_code", 200),
    ]);
  const of = (/** @type {string} */ service, /** @type {Buffer[]} */ spans) =>
    field(1, [field(1, attribute(1, "service.name", service)), field(2, [SCOPE, ...spans])]);
  return Buffer.concat([
    of(
      "shop",
      ids.map(({ trace, client }) => span(3, trace, client)),
    ),
    of(
      "carts",
      ids.map(({ trace, client, server }) => span(2, trace, server, client)),
    ),
  ]);
}

/** Log records of twenty streams. */
export function logs(/** @type {number} */ count) {
  return request(logRecords(count));
}

/** Log records of ten pods, each identified by its address. */
export function logsOfPods(/** @type {number} */ count) {
  return Buffer.concat(
    Array.from({ length: 10 }, (_, pod) => {
      const resource = field(1, [
        attribute(1, "service.name", "checkout"),
        attribute(1, "k8s.pod.ip", podAddress(pod)),
      ]);
      return field(1, [resource, field(2, [SCOPE, ...logRecords(count / 10)])]);
    }),
  );
}

export const podAddress = (/** @type {number} */ pod) => `10.0.${Math.floor(pod / 250)}.${(pod % 250) + 1}`;

function logRecords(/** @type {number} */ count) {
  return Array.from({ length: count }, (_, i) =>
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
  );
}

/** A random generator with the same numbers in every run. */
export function seeded(seed = 42) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Number of samples on the scraped page; RENDERED_SERIES is the number of series of the scraped exporter. */
export const PAGE_SAMPLES = 50_000;
/** Interval of its scrapes; on a busy machine one scrape takes a part of it. */
export const SCRAPE_SECONDS = 3;
export const RENDERED_SERIES = 100_000;
