import fc from "fast-check";
import type { Tree } from "../../../src/runtime/otlp/json/tree.js";
import type { Signal } from "../../../src/runtime/otlp/signals/signal.js";
import { anyCharacter } from "../any-character.js";

/**
 * Random OTLP requests as trees (see `decodeTree`): every field present or absent, every kind of value, the ends of
 * every number range. They use only fields that the reference encoder knows.
 */
const U64 = 2n ** 64n - 1n;
const I63 = 2n ** 63n;

export const uint64 = fc.oneof(
  fc.constantFrom(0n, 1n, 127n, 128n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 53n + 1n, U64),
  fc.bigInt(0n, U64),
);
export const int64 = fc.oneof(
  fc.constantFrom(0n, -1n, 1n, I63 - 1n, -I63, 2n ** 53n + 1n, -(2n ** 53n) - 1n, 2n ** 31n, -(2n ** 31n)),
  fc.bigInt(-I63, I63 - 1n),
);
export const uint32 = fc.oneof(fc.constantFrom(0, 1, 127, 128, 2 ** 31, 2 ** 32 - 1), fc.nat({ max: 2 ** 32 - 1 }));
const int32 = fc.oneof(fc.constantFrom(0, -1, 2 ** 31 - 1, -(2 ** 31)), fc.integer());
export const double = fc.double();
export const text = fc.oneof(
  { weight: 24, arbitrary: fc.string({ unit: anyCharacter, maxLength: 12 }) },
  {
    weight: 6,
    arbitrary: fc.constantFrom("", "é", "日本語", "\u0000", "\ufeffx", "😀", '"\\\n', "a".repeat(47), "ü".repeat(60)),
  },
  { weight: 1, arbitrary: fc.constantFrom(100, 127, 128, 130, 300, 17_000).map((length) => "x".repeat(length)) },
);
export const blob = fc.uint8Array({ maxLength: 20 });
export const key = fc.oneof(
  fc.constantFrom("", "a", "b", "a.b", "event.name", "__proto__", "constructor", "1", "k".repeat(127), "k".repeat(128)),
  fc.string({ unit: anyCharacter, maxLength: 6 }),
);
const id = (size: number) =>
  fc.oneof(fc.uint8Array({ minLength: size, maxLength: size }), fc.constant(new Uint8Array(0)));

const { value: anyValueTree, keyValue: keyValueTree } = fc.letrec<{ value: Tree; keyValue: Tree }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constant({}),
    text.map((stringValue) => ({ stringValue })),
    fc.boolean().map((boolValue) => ({ boolValue })),
    int64.map((intValue) => ({ intValue })),
    double.map((doubleValue) => ({ doubleValue })),
    blob.map((bytesValue) => ({ bytesValue })),
    fc.array(tie("value"), { maxLength: 3 }).map((values) => ({ arrayValue: { values } })),
    fc.array(tie("keyValue"), { maxLength: 3 }).map((values) => ({ kvlistValue: { values } })),
  ),
  keyValue: some({ key, value: tie("value") }),
}));

export const anyValue = anyValueTree;
const attributes = fc.array(keyValueTree, { maxLength: 4 });

/** An object with any of these fields. */
function some(fields: { [name: string]: fc.Arbitrary<unknown> }): fc.Arbitrary<Tree> {
  return fc.record(fields, { requiredKeys: [], noNullPrototype: true }) as fc.Arbitrary<Tree>;
}

const list = (item: fc.Arbitrary<Tree>) => fc.array(item, { maxLength: 3 });
const droppedAttributesCount = uint32;

const logRecord = some({
  timeUnixNano: uint64,
  observedTimeUnixNano: uint64,
  severityNumber: int32,
  severityText: text,
  body: anyValue,
  attributes,
  droppedAttributesCount,
  flags: uint32,
  traceId: id(16),
  spanId: id(8),
});

const event = some({ timeUnixNano: uint64, name: text, attributes, droppedAttributesCount });
const link = some({ traceId: id(16), spanId: id(8), traceState: text, attributes, droppedAttributesCount });
const span = some({
  traceId: id(16),
  spanId: id(8),
  traceState: text,
  parentSpanId: id(8),
  name: text,
  kind: int32,
  startTimeUnixNano: uint64,
  endTimeUnixNano: uint64,
  attributes,
  droppedAttributesCount,
  events: list(event),
  droppedEventsCount: uint32,
  links: list(link),
  droppedLinksCount: uint32,
  status: some({ message: text, code: int32 }),
});

const number = fc.oneof(
  fc.constant({}),
  double.map((asDouble) => ({ asDouble })),
  int64.map((asInt) => ({ asInt })),
);
const merged = (...parts: fc.Arbitrary<Tree>[]) =>
  fc.tuple(...parts).map((trees) => Object.assign({}, ...trees) as Tree);
const exemplars = list(
  merged(some({ filteredAttributes: attributes, timeUnixNano: uint64, spanId: id(8), traceId: id(16) }), number),
);
const point = { attributes, startTimeUnixNano: uint64, timeUnixNano: uint64, flags: uint32 };
const distribution = { ...point, count: uint64, sum: double };
const range = { min: double, max: double, exemplars };
const buckets = some({ offset: int32, bucketCounts: fc.array(uint64, { maxLength: 4 }) });
const numberPoint = merged(some({ ...point, exemplars }), number);
const histogramPoint = some({
  ...distribution,
  ...range,
  bucketCounts: fc.array(uint64, { maxLength: 4 }),
  explicitBounds: fc.array(double, { maxLength: 4 }),
});
const exponentialPoint = some({
  ...distribution,
  ...range,
  scale: int32,
  zeroCount: uint64,
  zeroThreshold: double,
  positive: buckets,
  negative: buckets,
});
const summaryPoint = some({ ...distribution, quantileValues: list(some({ quantile: double, value: double })) });

const aggregationTemporality = int32;
const metricData = fc.oneof(
  some({ gauge: some({ dataPoints: list(numberPoint) }) }),
  some({ sum: some({ dataPoints: list(numberPoint), aggregationTemporality, isMonotonic: fc.boolean() }) }),
  some({ histogram: some({ dataPoints: list(histogramPoint), aggregationTemporality }) }),
  some({ exponentialHistogram: some({ dataPoints: list(exponentialPoint), aggregationTemporality }) }),
  some({ summary: some({ dataPoints: list(summaryPoint) }) }),
);
const metric = merged(some({ name: text, description: text, unit: text }), metricData);

const resource = some({ attributes, droppedAttributesCount });
const scope = some({ name: text, version: text, attributes, droppedAttributesCount });
const schemaUrl = text;

/** A request of this signal. */
export function request(signal: Signal): fc.Arbitrary<Tree> {
  switch (signal) {
    case "logs":
      return some({
        resourceLogs: list(
          some({ resource, schemaUrl, scopeLogs: list(some({ scope, schemaUrl, logRecords: list(logRecord) })) }),
        ),
      });
    case "traces":
      return some({
        resourceSpans: list(
          some({ resource, schemaUrl, scopeSpans: list(some({ scope, schemaUrl, spans: list(span) })) }),
        ),
      });
    case "metrics":
      return some({
        resourceMetrics: list(
          some({ resource, schemaUrl, scopeMetrics: list(some({ scope, schemaUrl, metrics: list(metric) })) }),
        ),
      });
  }
}

/** A signal and a request of it. */
export const anyRequest: fc.Arbitrary<{ signal: Signal; tree: Tree }> = fc
  .constantFrom<Signal>("logs", "traces", "metrics")
  .chain((signal) => request(signal).map((tree) => ({ signal, tree })));
