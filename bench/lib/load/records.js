import { attribute, double, field, fixed64, uint } from "./proto.js";
import { token } from "./token.js";

/**
 * Requests of the benchmark: one resource, one scope, records with 10 attributes each (a log record has 343 bytes as
 * protobuf). All records have the same length, and carry their token in the attribute `bench.record`.
 *
 * @typedef {"logs" | "traces" | "metrics"} Signal
 * @typedef {[key: string, value: string | number]} Attribute
 * @typedef {{ list: string[], proto(mark: string, i: number, hits: number): Buffer[],
 *   json(mark: string, i: number, hits: number): object }} Shape
 */
export const SIGNALS = ["logs", "traces", "metrics"];

const START = 1_700_000_000_000_000_000n;
const TRACE_ID = "5b8efff798038103d269b633813fc60c";
const SPAN_ID = "eee19b7ec3c1b174";
const BODY = "payment of 42.00 EUR accepted for order 8251-77 after 2 attempts; card ending 424";

/** Bodies of the same length, each with personal data or a secret. */
const PERSONAL = [
  "payment of 42.00 EUR accepted for anna.lindqvist@mail.example.com after 2 attempts",
  "payment of 42.00 EUR accepted with card 4111 1111 1111 1111 after 2 attempts; ok 2",
  "payment of 42.00 EUR accepted, receipt sent to +46 70 123 45 67 after 2 attempts; ",
  "payment of 42.00 EUR accepted for a client at 203.0.113.77:51324 after 2 attempts;",
  "payment of 42.00 EUR accepted from SE45 5000 0000 0583 9825 7466 after 2 attempts;",
].map((text) => text.padEnd(BODY.length, ".").slice(0, BODY.length));

/** A line of names and values with three such values, of the same length. */
const threeValues = (/** @type {number} */ i) =>
  `user=anna.lindqvist${10 + (i % 90)}@mail.example.com client=203.0.113.${100 + (i % 100)} ` +
  `upstream=198.51.100.${100 + ((i * 7) % 100)} method=POST route=/api/v2/pay status=200 duration=42ms tries=2`;

/** A line that differs from others only in a number, as most lines of logs do. */
const numbered = (/** @type {string} */ mark) =>
  `request finished in 12 ms for route /api/v1/orders number ${mark.slice(-6)}`;

/**
 * Of a thousand records `hits` have one of them; with `THREE_IN_EACH`, every record has three. With `NUMBER_IN_EACH`,
 * none has any, and no two have the same body.
 */
const bodyOf = (/** @type {string} */ mark, /** @type {number} */ i, /** @type {number} */ hits) => {
  if (hits === NUMBER_IN_EACH) return numbered(mark);
  return hits === THREE_IN_EACH ? threeValues(i) : isHit(i, hits) ? PERSONAL[i % PERSONAL.length] : BODY;
};
/** Used instead of a number of hits. */
export const THREE_IN_EACH = 3000;
export const NUMBER_IN_EACH = -1;
const isHit = (/** @type {number} */ i, /** @type {number} */ hits) => (i * hits) % 1000 < hits;

/**
 * The attributes of each record: nine fixed ones, and the token in the middle.
 * @type {(mark: string) => Attribute[]}
 */
const attributesOf = (mark) => [
  ["http.method", "POST"],
  ["http.route", "/api/v2/pay"],
  ["http.code", 200],
  ["peer.name", "edge-17"],
  ["bench.record", mark],
  ["user.id", "u-00481516"],
  ["region", "eu-west-1"],
  ["k8s.pod", "pay-7c9f"],
  ["retries", 3],
  ["tenant", "acme"],
];

/** @type {Attribute[]} */
const RESOURCE = [
  ["service.name", "checkout"],
  ["service.version", "1.42.0"],
  ["host.name", "node-3.internal"],
];

/** The shape of a record by signal. @type {Record<Signal, Shape>} */
const SHAPES = {
  logs: {
    list: ["resourceLogs", "scopeLogs", "logRecords"],
    proto: (mark, i, hits) => [
      fixed64(1, START + BigInt(i)),
      uint(2, 9),
      field(3, "INFO"),
      field(5, field(1, bodyOf(mark, i, hits))),
      ...attributesOf(mark).map(([key, value]) => attribute(6, key, value)),
    ],
    json: (mark, i, hits) => ({
      timeUnixNano: String(START + BigInt(i)),
      severityNumber: 9,
      severityText: "INFO",
      body: { stringValue: bodyOf(mark, i, hits) },
      attributes: jsonAttributes(attributesOf(mark)),
    }),
  },
  traces: {
    list: ["resourceSpans", "scopeSpans", "spans"],
    proto: (mark, i) => [
      field(1, Buffer.from(TRACE_ID, "hex")),
      field(2, Buffer.from(SPAN_ID, "hex")),
      field(5, "POST /api/v2/pay"),
      uint(6, 2),
      fixed64(7, START + BigInt(i)),
      fixed64(8, START + BigInt(i) + 1_000_000n),
      ...attributesOf(mark).map(([key, value]) => attribute(9, key, value)),
    ],
    json: (mark, i) => ({
      traceId: TRACE_ID,
      spanId: SPAN_ID,
      name: "POST /api/v2/pay",
      kind: 2,
      startTimeUnixNano: String(START + BigInt(i)),
      endTimeUnixNano: String(START + BigInt(i) + 1_000_000n),
      attributes: jsonAttributes(attributesOf(mark)),
    }),
  },
  metrics: {
    list: ["resourceMetrics", "scopeMetrics", "metrics"],
    proto: (mark, i) => [
      field(1, "http.server.duration"),
      field(
        5,
        field(1, [
          fixed64(3, START + BigInt(i)),
          double(4, 12.5),
          ...attributesOf(mark).map(([key, value]) => attribute(7, key, value)),
        ]),
      ),
    ],
    json: (mark, i) => ({
      name: "http.server.duration",
      gauge: {
        dataPoints: [
          { timeUnixNano: String(START + BigInt(i)), asDouble: 12.5, attributes: jsonAttributes(attributesOf(mark)) },
        ],
      },
    }),
  },
};

/**
 * A request as protobuf. Of a thousand log records, `hits` have personal data in their bodies.
 *
 * @param {Signal} signal @param {number} records @returns {Buffer}
 */
export function protoRequest(signal, records, run = 0, request = 0, hits = 0) {
  const resource = field(1, Buffer.concat(RESOURCE.map(([key, value]) => attribute(1, key, value))));
  const scope = field(1, [field(1, "bench"), field(2, "1.0.0")]);
  const items = tokens(records, run, request).map((mark, i) => field(2, SHAPES[signal].proto(mark, i, hits)));
  return field(1, [resource, field(2, [scope, ...items])]);
}

/** Where the trace ids of a request in protobuf are. @param {Buffer} body @returns {number[]} */
export function traceIdOffsets(body) {
  const id = Buffer.from(TRACE_ID, "hex");
  const offsets = [];
  for (let at = body.indexOf(id); at >= 0; at = body.indexOf(id, at + id.length)) offsets.push(at);
  return offsets;
}

/** A request as OTLP/JSON. @param {Signal} signal @param {number} records @returns {Buffer} */
export function jsonRequest(signal, records, run = 0, request = 0, hits = 0) {
  const { list, json } = SHAPES[signal];
  const scoped = {
    scope: { name: "bench", version: "1.0.0" },
    [list[2]]: tokens(records, run, request).map((mark, i) => json(mark, i, hits)),
  };
  return Buffer.from(
    JSON.stringify({ [list[0]]: [{ resource: { attributes: jsonAttributes(RESOURCE) }, [list[1]]: [scoped] }] }),
  );
}

/** @param {Attribute[]} pairs */
function jsonAttributes(pairs) {
  return pairs.map(([key, value]) => ({
    key,
    value: typeof value === "string" ? { stringValue: value } : { intValue: String(value) },
  }));
}

function tokens(/** @type {number} */ records, /** @type {number} */ run, /** @type {number} */ request) {
  return Array.from({ length: records }, (_, i) => token(run, request, i));
}
