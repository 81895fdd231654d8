import type { MysqlMetric } from "./metrics.js";

/**
 * A query and the mapping of its columns to points. Every statement runs by itself, so if the user may not run one or
 * the server does not support it, only its metrics are missing.
 */
export interface MysqlStatistics {
  readonly name: string;
  readonly text: string;
  /** Attributes of all points of a row: attribute name to column. */
  readonly attributes: Readonly<Record<string, string>>;
  readonly points: readonly MysqlPoint[];
}

/** The metric of a column, and attributes of its points besides the row's. */
type MysqlPoint = readonly [column: string, metric: MysqlMetric, attributes: Readonly<Record<string, string>>];

/** How many statements are told apart, and how. */
interface StatementLimits {
  readonly digest_text_limit: number;
  readonly limit: number;
  /** In milliseconds. */
  readonly time_limit: number;
}

const OWN_SCHEMAS = "('mysql', 'performance_schema', 'information_schema')";
/** Timers count picoseconds. */
const nanoseconds = (column: string) => `FLOOR(${column} / 1000) AS ${column}`;

/** A query of a summary in performance_schema. */
function summary(
  from: string,
  where: string,
  attributes: Readonly<Record<string, string>>,
  points: readonly MysqlPoint[],
  names: readonly string[] = Object.values(attributes),
) {
  const columns = points.map(([column]) => (column.startsWith("SUM_TIMER") ? nanoseconds(column) : column));
  const text = `SELECT ${[...names, ...columns].join(", ")} FROM performance_schema.${from} WHERE ${where}`;
  return { text, attributes, points };
}

const IO_OPERATIONS = ["delete", "fetch", "insert", "update"] as const;
const READ_LOCKS = ["normal", "with_shared_locks", "high_priority", "no_insert", "external"] as const;
const WRITE_LOCKS = ["allow_write", "concurrent_insert", "low_priority", "normal", "external"] as const;

const ioPoints = (count: MysqlMetric, time: MysqlMetric) =>
  IO_OPERATIONS.flatMap((operation): MysqlPoint[] => [
    [`COUNT_${operation.toUpperCase()}`, count, { operation }],
    [`SUM_TIMER_${operation.toUpperCase()}`, time, { operation }],
  ]);

const lockPoints = (way: "read" | "write", kinds: readonly string[]) =>
  kinds.flatMap((kind): MysqlPoint[] => {
    const column = `${way}_${kind}`.toUpperCase();
    return [
      [`COUNT_${column}`, `mysql.table.lock_wait.${way}.count`, { kind }],
      [`SUM_TIMER_${column}`, `mysql.table.lock_wait.${way}.time`, { kind }],
    ];
  });

const OF_TABLE = { table: "OBJECT_NAME", schema: "OBJECT_SCHEMA" };

/** Statistics of tables and indexes. */
export const TABLE_STATISTICS: readonly MysqlStatistics[] = [
  {
    name: "waits of tables",
    ...summary(
      "table_io_waits_summary_by_table",
      "OBJECT_SCHEMA NOT IN ('mysql', 'performance_schema')",
      OF_TABLE,
      ioPoints("mysql.table.io.wait.count", "mysql.table.io.wait.time"),
    ),
  },
  {
    name: "waits of indexes",
    ...summary(
      "table_io_waits_summary_by_index_usage",
      "OBJECT_SCHEMA NOT IN ('mysql', 'performance_schema')",
      { ...OF_TABLE, index: "IDX" },
      ioPoints("mysql.index.io.wait.count", "mysql.index.io.wait.time"),
      ["OBJECT_NAME", "OBJECT_SCHEMA", "IFNULL(INDEX_NAME, 'NONE') AS IDX"],
    ),
  },
  {
    name: "locks of tables",
    ...summary("table_lock_waits_summary_by_table", `OBJECT_SCHEMA NOT IN ${OWN_SCHEMAS}`, OF_TABLE, [
      ...lockPoints("read", READ_LOCKS),
      ...lockPoints("write", WRITE_LOCKS),
    ]),
  },
  {
    name: "tables",
    text: `SELECT TABLE_NAME AS OBJECT_NAME, TABLE_SCHEMA AS OBJECT_SCHEMA, COALESCE(TABLE_ROWS, 0) AS TABLE_ROWS,
  COALESCE(AVG_ROW_LENGTH, 0) AS AVG_ROW_LENGTH, COALESCE(DATA_LENGTH, 0) AS DATA_LENGTH,
  COALESCE(INDEX_LENGTH, 0) AS INDEX_LENGTH
FROM information_schema.TABLES WHERE TABLE_SCHEMA NOT IN ('information_schema', 'sys')`,
    attributes: OF_TABLE,
    points: [
      ["TABLE_ROWS", "mysql.table.rows", {}],
      ["AVG_ROW_LENGTH", "mysql.table.average_row_length", {}],
      ["DATA_LENGTH", "mysql.table.size", { kind: "data" }],
      ["INDEX_LENGTH", "mysql.table.size", { kind: "index" }],
    ],
  },
];

const EVENTS =
  `errors warnings rows_affected rows_sent rows_examined created_tmp_disk_tables created_tmp_tables sort_merge_passes
  sort_rows no_index_used`.split(/\s+/);

/** The statements that took the most time lately. */
export function statementStatistics({ digest_text_limit, limit, time_limit }: StatementLimits): MysqlStatistics {
  const seconds = Math.floor(time_limit / 1000);
  const { text, attributes, points } = summary(
    "events_statements_summary_by_digest",
    `SCHEMA_NAME NOT IN ${OWN_SCHEMAS} AND LAST_SEEN > DATE_SUB(NOW(), INTERVAL ${seconds} SECOND)`,
    { schema: "SCHEMA_NAME", digest: "DIGEST", digest_text: "TEXT" },
    [
      ...EVENTS.map((kind): MysqlPoint => [`SUM_${kind.toUpperCase()}`, "mysql.statement_event.count", { kind }]),
      ["SUM_TIMER_WAIT", "mysql.statement_event.wait.time", {}],
    ],
    ["SCHEMA_NAME", "DIGEST", `LEFT(DIGEST_TEXT, ${digest_text_limit}) AS TEXT`],
  );
  const order = `ORDER BY events_statements_summary_by_digest.SUM_TIMER_WAIT DESC LIMIT ${limit}`;
  return { name: "statements", text: `${text} ${order}`, attributes, points };
}

/** Not from INNODB_METRICS: MariaDB counts pages there. */
export const POOL_SIZE = "SELECT @@GLOBAL.innodb_buffer_pool_size AS COUNT";
