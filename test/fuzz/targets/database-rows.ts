import { isMalformed } from "../../../src/plugin.js";
import { readRow, rowMessage } from "../../../src/receivers/outbox/outbox-row.js";
import { POSTGRESQL_METRICS } from "../../../src/receivers/postgresql/metrics.js";
import * as statistics from "../../../src/receivers/postgresql/statistics.js";
import { readMessage, wholeMessage } from "../../../src/runtime/brokers/messages/read-message.js";
import {
  batchOfPoints,
  MetricOutput,
  PointCollector,
} from "../../../src/runtime/receiving/scraping/point-collector.js";
import { assert, type FuzzTarget, magnitude, shapeOf } from "../fuzz.js";
import { holdToOtlp } from "../hold-to-otlp.js";
import { textMutator } from "../mutate-text.js";

const NOW = 1_700_000_000_000;
type Row = Record<string, string | null>;

const ALL = [
  statistics.DATABASES,
  statistics.TABLES,
  statistics.INDEXES,
  ...statistics.EXTRA_DATABASE_STATISTICS,
  ...statistics.DATABASE_STATISTICS,
  ...statistics.SERVER_STATISTICS,
];
const COLUMNS = ALL.flatMap(({ points, attributes = {} }) => [
  ...points.map(([column]) => column),
  ...Object.values(attributes),
]);
const STATISTICS_ROW = { name: "db", start_ms: "1690000000000.5", ...Object.fromEntries(COLUMNS.map((c) => [c, "7"])) };
const OUTBOX_ROW = {
  id: "17",
  key: "customer 1",
  type: "order.paid",
  payload: "\\x7b2261223a315d7d",
  headers: '{"x-trace":"abc","n":1,"nested":{"a":[null]}}',
  idempotency_key: null,
  created_ms: "1700000000000.25",
  claims: "1",
  replayed_by: "ann",
  oversized: "f",
  handled: "t",
};
const WORDS = [...'{}[]:,"', "null", '""', '"-1"', '"1e400"', '"NaN"', '"\\\\x"', '"t"', "__proto__", '"{}"'];

/** Rows as the server sends them: each value is text, or null. */
function rowsIn(input: Buffer): Row[] | undefined {
  try {
    const parsed: unknown = JSON.parse(input.toString("utf8"));
    const rows = (Array.isArray(parsed) ? parsed : [parsed]).filter((row) => typeof row === "object" && row !== null);
    return rows.map((row) => {
      const values = Object.entries(row as object).map(([name, value]) => [
        name,
        value === null || typeof value === "string" ? value : JSON.stringify(value),
      ]);
      return Object.fromEntries(values) as Row;
    });
  } catch {
    return undefined;
  }
}

const enabled = Object.fromEntries(Object.keys(POSTGRESQL_METRICS).map((name) => [name, { enabled: true }]));
const output = new MetricOutput(POSTGRESQL_METRICS, enabled);

function runStatistics(input: Buffer): string {
  const rows = rowsIn(input);
  if (rows === undefined) return "no rows";
  const collectors = rows.flatMap((row) =>
    ALL.map((each) => {
      const points = new PointCollector(Number(row["start_ms"] ?? NOW), {
        "postgresql.database.name": row["name"] ?? "",
      });
      for (const { metric, value, attributes } of statistics.pointsOfRow(each, row))
        output.add(points, metric, value, attributes);
      return points;
    }),
  );
  const batch = batchOfPoints(collectors, NOW);
  holdToOtlp(batch);
  return `${magnitude(batch.count)} points in ${magnitude(batch.byteLength)}`;
}

/** The message of every row is kept: decoded, or whole as a dead letter. */
function runOutbox(input: Buffer): string {
  const rows = (rowsIn(input) ?? []).filter(({ id }) => typeof id === "string");
  const outcomes = rows.flatMap((row) =>
    [17, 25].map((payloadType) => {
      const { message, setback } = rowMessage(readRow(row, payloadType), "outbox", "key");
      holdToOtlp(wholeMessage("logs", message, "outbox"));
      try {
        const batch = readMessage("logs", "json", message, "outbox");
        holdToOtlp(batch);
        return `${setback?.message ?? "read"}, ${magnitude(batch.byteLength)}`;
      } catch (error) {
        assert(isMalformed(error), `threw ${error}`);
        return shapeOf(error.message);
      }
    }),
  );
  return outcomes.join();
}

/** Rows of PostgreSQL: its own statistics, and those of an outbox, which any program may write. */
export const rowTargets: readonly FuzzTarget[] = [
  {
    name: "rows of PostgreSQL's statistics",
    share: 2,
    seeds: [Buffer.from(JSON.stringify([STATISTICS_ROW]))],
    mutate: textMutator([...WORDS, ...COLUMNS.map((column) => `"${column}"`)]),
    run: runStatistics,
  },
  {
    name: "rows of an outbox",
    share: 3,
    seeds: [OUTBOX_ROW, { ...OUTBOX_ROW, payload: "text", headers: null, created_ms: null }].map((row) =>
      Buffer.from(JSON.stringify([row])),
    ),
    mutate: textMutator([...WORDS, ...Object.keys(OUTBOX_ROW).map((column) => `"${column}"`)]),
    run: runOutbox,
  },
];
