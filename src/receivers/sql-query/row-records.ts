import { LogEntry, type LogMap, newLogMap, setValue } from "#logs/entries";
import { type Batch, encodeTree } from "../../plugin.js";
import type { LogsConfig, MetricConfig } from "./config.js";
import type { SqlRows } from "./sql-database.js";

const SCOPE = "github.com/open-telemetry/opentelemetry-collector-contrib/receiver/sqlqueryreceiver";
type SqlRow = SqlRows["rows"][number];

/** Reports what is wrong with a row. */
type ReportRow = (problem: string) => void;

/** A row as a log record. A column that is missing or NULL leaves its part of the record empty. */
export function logEntryOf(
  { body_column, attribute_columns }: LogsConfig,
  columns: SqlRows["columns"],
  row: SqlRow,
  report: ReportRow,
): LogEntry {
  const body = columnValue(columns, row, body_column, report) ?? null;
  const attributes: LogMap = newLogMap();
  for (const name of attribute_columns) {
    const value = columnValue(columns, row, name, report);
    if (value !== undefined) setValue(attributes, name, value);
  }
  const entry = new LogEntry(body, attributes, {}, undefined);
  entry.scopeName = SCOPE;
  return entry;
}

/** The times of a collection, in nanoseconds. */
interface CollectionTimes {
  readonly start: bigint;
  readonly now: bigint;
  readonly interval: bigint;
}

/** The metrics of all rows: one per row, as in the Collector. A row without a usable value has none. */
export function metricsOf(
  configs: readonly MetricConfig[],
  { columns, rows }: SqlRows,
  times: CollectionTimes,
  report: ReportRow,
): Batch {
  const metrics = configs.flatMap((config) =>
    rows.flatMap((row) => {
      const condition = config.row_condition;
      const at = condition && columns.get(condition.column);
      if (condition !== undefined && (at === undefined || row[at] !== condition.value)) return [];
      const point = pointOf(config, columns, row, times, report);
      return point === undefined ? [] : [metricOf(config, point)];
    }),
  );
  const resourceMetrics = [{ resource: {}, scopeMetrics: [{ scope: { name: SCOPE }, metrics }] }];
  return encodeTree("metrics", { resourceMetrics: metrics.length === 0 ? [] : resourceMetrics } as never);
}

function metricOf(
  { metric_name: name, unit, description, data_type, monotonic, aggregation }: MetricConfig,
  point: object,
) {
  const dataPoints = [point];
  const sum = { dataPoints, isMonotonic: monotonic, aggregationTemporality: aggregation === "delta" ? 1 : 2 };
  return { name, unit, description, ...(data_type === "sum" ? { sum } : { gauge: { dataPoints } }) };
}

function pointOf(
  config: MetricConfig,
  columns: SqlRows["columns"],
  row: SqlRow,
  times: CollectionTimes,
  report: ReportRow,
) {
  const value = numberOf(config, columnValue(columns, row, config.value_column, report), report);
  const now = timeOf(config.ts_column, columns, row, times.now, report);
  const began = timeOf(config.start_ts_column, columns, row, times.start, report);
  if (value === undefined || now === undefined || began === undefined) return undefined;
  const start = { "": undefined, cumulative: began, delta: now - times.interval }[config.aggregation];
  const attributes = new Map(Object.entries(config.static_attributes));
  for (const name of config.attribute_columns) {
    const text = columnValue(columns, row, name, report);
    if (text !== undefined) attributes.set(name, text);
  }
  return {
    timeUnixNano: now,
    ...(start !== undefined && { startTimeUnixNano: start < 0n ? 0n : start }),
    ...value,
    attributes: [...attributes].map(([key, stringValue]) => ({ key, value: { stringValue } })),
  };
}

function columnValue(columns: SqlRows["columns"], row: SqlRow, name: string, report: ReportRow): string | undefined {
  const at = columns.get(name);
  const value = at === undefined ? undefined : row[at];
  if (value === undefined) report(at === undefined ? `there is no column ${name}` : `the column ${name} is NULL`);
  return value;
}

function numberOf({ value_type, value_column }: MetricConfig, text: string | undefined, report: ReportRow) {
  if (text === undefined) return undefined;
  if (value_type === "double") {
    if (DOUBLE.test(text)) return { asDouble: Number(text) };
    const special = SPECIAL.get(text.toLowerCase());
    if (special !== undefined) return { asDouble: special };
  } else if (/^[+-]?\d{1,19}$/.test(text) && isInt64(BigInt(text.replace("+", "")))) {
    return { asInt: BigInt(text.replace("+", "")) };
  }
  report(
    `the column ${value_column} has ${JSON.stringify(text.slice(0, 50))}, which is not of the type ${value_type || "int"}`,
  );
  return undefined;
}

const DOUBLE = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;
const SPECIAL: ReadonlyMap<string, number> = new Map([
  ["nan", Number.NaN],
  ...["inf", "+inf", "infinity", "+infinity"].map((text) => [text, Number.POSITIVE_INFINITY] as const),
  ...["-inf", "-infinity"].map((text) => [text, Number.NEGATIVE_INFINITY] as const),
]);

function isInt64(value: bigint): boolean {
  return BigInt.asIntN(64, value) === value;
}

/** The time in a column, or the given one if no column is chosen. */
function timeOf(name: string, columns: SqlRows["columns"], row: SqlRow, given: bigint, report: ReportRow) {
  if (name === "") return given;
  const text = columnValue(columns, row, name, report);
  if (text === undefined) return undefined;
  if (/^\d{1,19}$/.test(text) && isInt64(BigInt(text))) return BigInt(text);
  report(`the column ${name} has ${JSON.stringify(text.slice(0, 50))}, which is not a time in nanoseconds`);
  return undefined;
}
