import { Batch } from "../../../src/runtime/otlp/batch.js";
import { encodeTree, type Tree } from "../../../src/runtime/otlp/json/tree.js";
import { KEEP, RecordWalk } from "../../../src/runtime/otlp/views/record-walk.js";
import { compileCondition, compilerFor, compileStatement } from "../../../src/runtime/ottl/compile/compile.js";
import { transformBatch } from "../../../src/runtime/ottl/compile/run.js";
import { CONTEXT_SHAPES, type ContextName } from "../../../src/runtime/ottl/paths/context.js";
import { RecordContext } from "../../../src/runtime/ottl/paths/record-context.js";
import { parseValue } from "../../../src/runtime/ottl/syntax/parser.js";
import type { OttlMap, OttlValue } from "../../../src/runtime/ottl/values/value.js";

/** Small batches with something in every field, and short ways to ask conditions and statements about them. */

export const text = (stringValue: string): Tree => ({ stringValue });
export const int = (intValue: bigint): Tree => ({ intValue });
const double = (doubleValue: number): Tree => ({ doubleValue });
export const list = (...values: Tree[]): Tree => ({ arrayValue: { values } });
const map = (entries: { [key: string]: Tree }): Tree => ({ kvlistValue: { values: attributes(entries) } });
export const attributes = (entries: { [key: string]: Tree }): Tree[] =>
  Object.entries(entries).map(([key, value]) => ({ key, value }));

const RESOURCE: Tree = {
  attributes: attributes({ "service.name": text("checkout"), replicas: int(3n) }),
  droppedAttributesCount: 1,
};
const SCOPE: Tree = {
  name: "lib",
  version: "1.2",
  attributes: attributes({ "scope.key": text("scope value") }),
  droppedAttributesCount: 2,
};

export const LOG: Tree = {
  timeUnixNano: 1_700_000_000_123_456_789n,
  observedTimeUnixNano: 1_700_000_001_000_000_000n,
  severityNumber: 9,
  severityText: "INFO",
  body: map({ user: map({ id: int(7n), tags: list(text("a"), text("b")) }), message: text("hello") }),
  attributes: attributes({
    text: text("some text"),
    empty: text(""),
    int: int(42n),
    big: int(9_007_199_254_740_993n),
    double: double(1.5),
    whole: double(2),
    yes: { boolValue: true },
    no: { boolValue: false },
    bytes: { bytesValue: Uint8Array.of(1, 2, 255) },
    none: {},
    list: list(text("x"), int(1n), double(0.5)),
    map: map({ inner: map({ deep: text("found") }), n: int(1n) }),
    json: text('{"a":[1,{"b":"c"}],"n":null}'),
    password: text("secret"),
  }),
  droppedAttributesCount: 4,
  flags: 1,
  traceId: Uint8Array.from({ length: 16 }, (_, i) => i + 1),
  spanId: Uint8Array.from({ length: 8 }, (_, i) => i + 1),
  eventName: "login",
};

export const SPAN: Tree = {
  traceId: Uint8Array.from({ length: 16 }, (_, i) => i + 1),
  spanId: Uint8Array.from({ length: 8 }, (_, i) => i + 1),
  parentSpanId: Uint8Array.from({ length: 8 }, (_, i) => i + 9),
  traceState: "a=1,b=2",
  name: "GET /health",
  kind: 2,
  startTimeUnixNano: 1_000n,
  endTimeUnixNano: 5_000n,
  attributes: attributes({ "http.status_code": int(500n) }),
  droppedAttributesCount: 1,
  events: [
    { timeUnixNano: 2_000n, name: "first", attributes: attributes({ n: int(1n) }), droppedAttributesCount: 3 },
    { timeUnixNano: 3_000n, name: "second", attributes: attributes({ n: int(2n) }) },
  ],
  droppedEventsCount: 5,
  links: [{ traceId: new Uint8Array(16).fill(1), spanId: new Uint8Array(8).fill(2) }],
  droppedLinksCount: 6,
  status: { code: 2, message: "boom" },
  flags: 257,
};

const POINT = { startTimeUnixNano: 100n, timeUnixNano: 200n, flags: 1, attributes: attributes({ route: text("/a") }) };
export const METRICS: { [name: string]: Tree } = {
  gauge: { name: "g", description: "a gauge", unit: "s", gauge: { dataPoints: [{ ...POINT, asDouble: 1.5 }] } },
  sum: {
    name: "s",
    unit: "1",
    metadata: attributes({ origin: text("prometheus") }),
    sum: { aggregationTemporality: 2, isMonotonic: true, dataPoints: [{ ...POINT, asInt: 7n }] },
  },
  histogram: {
    name: "h",
    histogram: {
      aggregationTemporality: 1,
      dataPoints: [
        { ...POINT, count: 6n, sum: 12.5, bucketCounts: [1n, 2n, 3n], explicitBounds: [1, 2], min: 0.5, max: 9 },
      ],
    },
  },
  exponentialHistogram: {
    name: "e",
    exponentialHistogram: {
      aggregationTemporality: 2,
      dataPoints: [
        {
          ...POINT,
          count: 4n,
          sum: 3,
          scale: -1,
          zeroCount: 1n,
          positive: { offset: 2, bucketCounts: [1n, 2n] },
          negative: { offset: -3, bucketCounts: [0n] },
        },
      ],
    },
  },
  summary: {
    name: "q",
    summary: { dataPoints: [{ ...POINT, count: 2n, sum: 5, quantileValues: [{ quantile: 0.5, value: 2 }] }] },
  },
};

const WITH_EXEMPLAR: Tree = {
  name: "s",
  sum: {
    dataPoints: [
      {
        ...POINT,
        asInt: 7n,
        exemplars: [{ timeUnixNano: 300n, asInt: 5n, filteredAttributes: attributes({ user: text("ada") }) }],
      },
    ],
  },
};

export function logsOf(...logRecords: Tree[]): Batch {
  const scopeLogs = [{ scope: SCOPE, logRecords, schemaUrl: "scope-schema" }];
  return encodeTree("logs", { resourceLogs: [{ resource: RESOURCE, scopeLogs, schemaUrl: "resource-schema" }] });
}

export function spansOf(...spans: Tree[]): Batch {
  return encodeTree("traces", { resourceSpans: [{ resource: RESOURCE, scopeSpans: [{ scope: SCOPE, spans }] }] });
}

export function metricsOf(...metrics: Tree[]): Batch {
  return encodeTree("metrics", {
    resourceMetrics: [{ resource: RESOURCE, scopeMetrics: [{ scope: SCOPE, metrics }] }],
  });
}

/** A batch with one thing of the context, or with a given one in its place. */
export function batchFor(context: ContextName, thing?: Tree): Batch {
  switch (context) {
    case "span":
    case "spanevent":
      return spansOf(thing ?? SPAN);
    case "exemplar":
      return metricsOf(thing ?? WITH_EXEMPLAR);
    case "metric":
    case "datapoint":
      return metricsOf(thing ?? METRICS["sum"]!);
    default:
      return logsOf(thing ?? LOG);
  }
}

/** The value of an expression for the first thing of the context in the batch. Maps and lists become plain ones. */
export function evaluate(expression: string, context: ContextName = "log", batch = batchFor(context)): unknown {
  const get = compilerFor(context).value(parseValue(expression));
  const scene = new RecordContext(context);
  let found: unknown[] | undefined;
  new RecordWalk(batch, CONTEXT_SHAPES[context]).run({
    visit(walk, start, end) {
      scene.begin(walk, start, end);
      found ??= [plain(get(scene))];
      return KEEP;
    },
  });
  return found![0];
}

function plain(value: OttlValue): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof Map) return Object.fromEntries([...(value as OttlMap)].map(([key, item]) => [key, plain(item)]));
  return value instanceof Uint8Array ? new Uint8Array(value) : value;
}

/** Whether a condition holds for the first thing of the context. */
export function holds(condition: string, context: ContextName = "log", batch = batchFor(context)): boolean {
  const { matches } = compileCondition(condition, context);
  const scene = new RecordContext(context);
  let result: boolean | undefined;
  new RecordWalk(batch, CONTEXT_SHAPES[context]).run({
    visit(walk, start, end) {
      scene.begin(walk, start, end);
      result ??= matches(scene);
      return KEEP;
    },
  });
  return result!;
}

/** The batch after the statements, checked to the last byte. */
export function edited(
  statements: string | readonly string[],
  context: ContextName = "log",
  batch = batchFor(context),
): Batch {
  const compiled = [statements].flat().map((statement) => compileStatement(statement, context));
  const result = transformBatch(batch, compiled);
  const admitted = Batch.admit(result.signal, result.bytes);
  if (admitted.count !== result.count) throw new Error(`counts ${result.count}, has ${admitted.count}`);
  return result;
}

/** The value of an expression after a statement. */
export function evaluateAfter(
  statements: string | readonly string[],
  expression: string,
  context: ContextName = "log",
  batch = batchFor(context),
): unknown {
  return evaluate(expression, context, edited(statements, context, batch));
}
