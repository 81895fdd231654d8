import { type ClickhouseConfig, ttlOf } from "./config.js";
import { type ClickhouseColumn, COLUMNS, KEY_COLUMNS, MAP_TYPE, type RowShape } from "./table-shapes.js";

/** The table for the rows of one shape. */
export interface TableName {
  readonly database: string;
  readonly table: string;
}

/**
 * Returns the statements that create a table and everything that belongs to it, if missing, as the Collector's exporter
 * does.
 */
export function createTableTexts(shape: RowShape, { database, table }: TableName, config: ClickhouseConfig): string[] {
  const columns = config.json ? jsonColumns(shape) : COLUMNS[shape];
  const { partition, order } = LAYOUTS[shape];
  const lines = [
    ...columns.map(({ name, type }) => `${quoteIdentifier(name)} ${type}`),
    ...indexes(shape, config.json),
  ];
  const own = [
    `CREATE TABLE IF NOT EXISTS ${qualifiedName(database, table)}${onCluster(config)} (${lines.join(", ")})`,
    ` ENGINE = ${engineOf(config)} PARTITION BY toDate(${partition}) ORDER BY (${order})`,
    ttlText(`toDateTime(${partition})`, config),
    " SETTINGS index_granularity = 8192, ttl_only_drop_parts = 1",
  ].join("");
  return shape === "traces" ? [own, ...traceTimes({ database, table }, config)] : [own];
}

export function createDatabaseText(database: string, config: ClickhouseConfig): string {
  return `CREATE DATABASE IF NOT EXISTS ${quoteIdentifier(database)}${onCluster(config)}`;
}

/** Returns the quoted name of a table, including its database. */
export function qualifiedName(database: string, table: string): string {
  return `${quoteIdentifier(database)}.${quoteIdentifier(table)}`;
}

function quoteIdentifier(name: string): string {
  return `\`${name.replace(/[\\`]/g, "\\$&")}\``;
}

export function quoteString(text: string): string {
  return `'${text.replace(/[\\']/g, "\\$&")}'`;
}

function onCluster({ cluster_name: cluster }: ClickhouseConfig): string {
  return cluster === "" ? "" : ` ON CLUSTER ${quoteIdentifier(cluster)}`;
}

function engineOf({ table_engine: { name, params } }: ClickhouseConfig): string {
  return name === "" ? "MergeTree()" : `${name}(${params})`;
}

function jsonColumns(shape: RowShape): readonly ClickhouseColumn[] {
  if (KEY_COLUMNS[shape] === undefined) return COLUMNS[shape];
  const own = COLUMNS[shape].map((column) => ({ ...column, type: column.type.replace(MAP_TYPE, "JSON") }));
  return [...own, ...KEY_COLUMNS[shape]];
}

const POINTS = {
  partition: "TimeUnix",
  order: "ServiceName, MetricName, toStartOfHour(TimeUnix), cityHash64(Attributes), TimeUnix",
};
const LAYOUTS: Readonly<Record<RowShape, { readonly partition: string; readonly order: string }>> = {
  logs: { partition: "Timestamp", order: "toStartOfFiveMinutes(Timestamp), ServiceName, Timestamp" },
  traces: { partition: "Timestamp", order: "ServiceName, SpanName, toDateTime(Timestamp)" },
  gauge: POINTS,
  sum: POINTS,
  histogram: POINTS,
  exponentialHistogram: POINTS,
  summary: POINTS,
};

/** Maps are indexed by their keys and values. For a JSON column there is a column of its keys. */
function indexes(shape: RowShape, json: boolean): string[] {
  const own = { logs: "LogAttributes", traces: "SpanAttributes" }[shape as "logs"] ?? "Attributes";
  const maps = { resource: "ResourceAttributes", ...(shape !== "traces" && { scope: "ScopeAttributes" }), own };
  const isJson = json && KEY_COLUMNS[shape] !== undefined;
  const texts = Object.entries(maps).flatMap(([name, column]) => {
    if (isJson) return [bloom(`${name}_keys`, `${column}Keys`)];
    return [bloom(`${name}_attr_key`, `mapKeys(${column})`), bloom(`${name}_attr_value`, `mapValues(${column})`)];
  });
  if (shape === "logs" || shape === "traces") texts.push(bloom("trace_id", "TraceId", 0.001));
  if (shape === "logs") texts.push("INDEX idx_lower_body lower(Body) TYPE tokenbf_v1(32768, 3, 0) GRANULARITY 8");
  if (shape === "traces") texts.push("INDEX idx_duration Duration TYPE minmax GRANULARITY 1");
  return texts;
}

function bloom(name: string, expression: string, rate = 0.01): string {
  return `INDEX idx_${name} ${expression} TYPE bloom_filter(${rate}) GRANULARITY 1`;
}

/** Stores when each trace began and ended, so that a trace can be found by its id alone. */
function traceTimes({ database, table }: TableName, config: ClickhouseConfig): string[] {
  const times = qualifiedName(database, `${table}_trace_id_ts`);
  const view = qualifiedName(database, `${table}_trace_id_ts_mv`);
  const columns =
    "TraceId String CODEC(ZSTD(1)), Start DateTime CODEC(Delta, ZSTD(1)), End DateTime CODEC(Delta, ZSTD(1))";
  return [
    [
      `CREATE TABLE IF NOT EXISTS ${times}${onCluster(config)} (${columns}, ${bloom("trace_id", "TraceId")})`,
      ` ENGINE = ${engineOf(config)} PARTITION BY toDate(Start) ORDER BY (TraceId, Start)`,
      ttlText("toDateTime(Start)", config),
      " SETTINGS index_granularity = 8192, ttl_only_drop_parts = 1",
    ].join(""),
    `CREATE MATERIALIZED VIEW IF NOT EXISTS ${view}${onCluster(config)} TO ${times} AS SELECT TraceId, min(Timestamp) AS Start,` +
      ` max(Timestamp) AS End FROM ${qualifiedName(database, table)} WHERE TraceId != '' GROUP BY TraceId`,
  ];
}

const UNITS = [
  ["Day", 86_400],
  ["Hour", 3600],
  ["Minute", 60],
] as const;

function ttlText(column: string, config: ClickhouseConfig): string {
  const seconds = Math.ceil(ttlOf(config) / 1000);
  if (seconds === 0) return "";
  const [unit, size] = UNITS.find(([, each]) => seconds % each === 0) ?? ["Second", 1];
  return ` TTL ${column} + toInterval${unit}(${seconds / size})`;
}
