import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Batch } from "../../../../../src/runtime/otlp/batch.js";
import { hasTooManyValues } from "../../../../../src/runtime/otlp/bytes/check/check-request.js";
import { decodeTree, encodeTree } from "../../../../../src/runtime/otlp/json/tree.js";
import { SIGNALS } from "../../../../../src/runtime/otlp/signals/signal.js";
import { runs } from "../../../../support/runs.js";
import { referenceEncode } from "../../../../support/telemetry/otlp-reference.js";
import { logsOf, metricsOf, spansOf } from "../../../../support/telemetry/ottl.js";
import { request } from "../../../../support/telemetry/telemetry-arbitraries.js";

/** The lists that contain records, and the objects on the way to them. */
const CONTAINERS =
  /^(resource(Logs|Spans|Metrics)|scope(Logs|Spans|Metrics)|metrics|gauge|sum|histogram|exponentialHistogram|summary)$/;
const RECORDS = /^(logRecords|spans|dataPoints)$/;

/** The largest number of values in one record or in one message around records, counted in the decoded tree. */
function mostValues(tree: object): number {
  let own = 0;
  let most = 0;
  for (const [name, value] of Object.entries(tree)) {
    const items: unknown[] = Array.isArray(value) ? value : [value];
    if (CONTAINERS.test(name)) most = Math.max(most, ...items.map((each) => mostValues(each as object)));
    else if (RECORDS.test(name)) most = Math.max(most, ...items.map((each) => valuesIn(each)));
    else
      own += (Array.isArray(value) ? value.length : 0) + items.reduce<number>((sum, each) => sum + valuesIn(each), 0);
  }
  return Math.max(most, own);
}

function valuesIn(value: unknown): number {
  if (Array.isArray(value)) return value.length + value.reduce<number>((sum, each) => sum + valuesIn(each), 0);
  if (value instanceof Uint8Array || typeof value !== "object" || value === null) return 0;
  return Object.values(value).reduce<number>((sum, each) => sum + valuesIn(each), 0);
}

describe.each(SIGNALS)("the values of a record in %s", (signal) => {
  it("are counted as in the decoded request", () => {
    fc.assert(
      fc.property(request(signal), (tree) => {
        const batch = Batch.admit(signal, referenceEncode(signal, tree));
        const most = mostValues(decodeTree(batch));
        // packed integers count by their bytes, which may be more than their number
        if (most > 0) expect(hasTooManyValues(batch, most - 1)).toBe(true);
        if (signal !== "metrics") expect(hasTooManyValues(batch, most)).toBe(false);
      }),
      runs(100),
    );
  });
});

const attributes = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ key: `k${i}`, value: { intValue: BigInt(i) } }));

/** Each takes one byte as a varint. */
const numbers = Array.from({ length: 101 }, (_, i) => BigInt(i));

function withEntity(idKeys: string[]): Batch {
  const resource = { entityRefs: [{ type: "host", idKeys }] };
  const tree = { resourceLogs: [{ resource, scopeLogs: [{ logRecords: [{ severityNumber: 9 }] }] }] };
  return encodeTree("logs", tree);
}

it.each([
  ["attributes of a log record", () => logsOf({ attributes: attributes(101) })],
  ["items of a list", () => logsOf({ body: { arrayValue: { values: attributes(101).map(({ value }) => value) } } })],
  ["entries of a map", () => logsOf({ body: { kvlistValue: { values: attributes(101) } } })],
  ["events of a span", () => spansOf({ events: attributes(101).map(({ key }) => ({ name: key })) })],
  ["attributes of an event", () => spansOf({ events: [{ name: "e", attributes: attributes(101) }] })],
  ["buckets of a histogram", () => metricsOf({ name: "m", histogram: { dataPoints: [{ bucketCounts: numbers }] } })],
  [
    "buckets of an exponential histogram",
    () => metricsOf({ name: "m", exponentialHistogram: { dataPoints: [{ positive: { bucketCounts: numbers } }] } }),
  ],
  ["keys of an entity", () => withEntity(numbers.map(String))],
  ["attributes of a point", () => metricsOf({ name: "m", gauge: { dataPoints: [{ attributes: attributes(101) }] } })],
])("finds too many %s", (_, batch) => {
  const { signal, bytes } = batch();
  const received = Batch.admit(signal, bytes);
  expect(hasTooManyValues(received, 100)).toBe(true);
  expect(hasTooManyValues(received, 102)).toBe(false);
});

it("does not add up the values of different records", () => {
  const batch = logsOf({ attributes: attributes(90) }, { attributes: attributes(90) });
  expect(hasTooManyValues(batch, 100)).toBe(false);
});

it("joins no pieces of an ordinary request", () => {
  const { signal, bytes } = logsOf({ attributes: attributes(90) }, { attributes: attributes(90) });
  const batch = Batch.admitPieces(signal, [bytes.subarray(0, 500), bytes.subarray(500)]);
  expect(hasTooManyValues(batch, 200)).toBe(false);
  expect(batch.chunks).toHaveLength(2);
});
