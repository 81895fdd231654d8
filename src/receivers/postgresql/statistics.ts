import type { TextRow } from "#brokers/postgres";
import type { PostgresqlMetric } from "./metrics.js";

/**
 * A query and the mapping of its columns to points. Every statement runs by itself, so if the role may not run one or
 * the server's version does not support it, only its metrics are missing.
 */
export interface Statistics {
  readonly name: string;
  readonly text: (versionNumber: number) => string;
  /** The query runs only if one of these is wanted; if absent, always. */
  readonly onlyFor?: readonly PostgresqlMetric[];
  readonly points: readonly ColumnPoint[];
  /** Attributes of all points of a row: attribute name to column name. */
  readonly attributes?: Readonly<Record<string, string>>;
}

/** The metric of a column, and attributes of its points besides the row's. A column without a value gives no point. */
type ColumnPoint = readonly [column: string, metric: PostgresqlMetric, attributes?: Readonly<Record<string, string>>];

const START = (reset: string) =>
  `extract(epoch FROM coalesce(${reset}, pg_postmaster_start_time())) * 1000 AS start_ms`;

/**
 * Reading the size of a relation would wait for exclusive locks, so locked relations are left out until they are free.
 */
const NOT_LOCKED = (relation: string) => `NOT EXISTS (
  SELECT FROM pg_locks l WHERE l.relation = ${relation} AND l.locktype = 'relation' AND l.granted
    AND l.mode = 'AccessExclusiveLock' AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()))`;

/** Facts about the server, read before measuring. */
export const SERVER = `SELECT current_setting('server_version_num') AS version, ${START("stats_reset")} FROM pg_stat_bgwriter`;

/** One row per database: name and start_ms next to the measured values. */
export const DATABASES: Statistics = {
  name: "databases",
  text: () => `SELECT d.datname AS name, ${START("s.stats_reset")},
  CASE WHEN has_database_privilege(d.oid, 'CONNECT') THEN pg_database_size(d.oid) END AS size,
  (SELECT count(*) FROM pg_stat_activity a WHERE a.datid = d.oid) AS backends, s.*
FROM pg_database d JOIN pg_stat_database s ON s.datid = d.oid WHERE NOT d.datistemplate AND d.datallowconn`,
  points: [
    ["backends", "postgresql.backends"],
    ["size", "postgresql.db_size"],
    ["xact_commit", "postgresql.commits"],
    ["xact_rollback", "postgresql.rollbacks"],
    ["deadlocks", "postgresql.deadlocks"],
    ["temp_files", "postgresql.temp_files"],
    ["temp_bytes", "postgresql.temp.io"],
    ["tup_updated", "postgresql.tup_updated"],
    ["tup_returned", "postgresql.tup_returned"],
    ["tup_fetched", "postgresql.tup_fetched"],
    ["tup_inserted", "postgresql.tup_inserted"],
    ["tup_deleted", "postgresql.tup_deleted"],
    ["blks_hit", "postgresql.blks_hit"],
    ["blks_read", "postgresql.blks_read"],
  ],
};

const CONFLICT = "postgresql.conflict.type";

/** More rows by database name, for metrics that are optional or need more privileges. */
export const EXTRA_DATABASE_STATISTICS: readonly Statistics[] = [
  {
    name: "conflicts",
    onlyFor: ["postgresql.query.conflicts"],
    text: () => "SELECT datname AS name, * FROM pg_stat_database_conflicts",
    points: (["tablespace", "lock", "snapshot", "bufferpin", "deadlock"] as const).map(
      (type) => [`confl_${type}`, "postgresql.query.conflicts", { [CONFLICT]: type }] as const,
    ),
  },
  {
    name: "statements",
    onlyFor: ["postgresql.query.execution.time"],
    text: () => `SELECT d.datname AS name, sum(s.total_exec_time) / 1000 AS seconds
FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid GROUP BY d.datname`,
    points: [["seconds", "postgresql.query.execution.time"]],
  },
];

const OPERATIONS = { ins: "n_tup_ins", upd: "n_tup_upd", del: "n_tup_del", hot_upd: "n_tup_hot_upd" };
const SOURCES = ["heap", "idx", "toast", "tidx"].flatMap((part) => [`${part}_read`, `${part}_hit`]);

/** One row per table of the connected database. */
export const TABLES: Statistics = {
  name: "tables",
  text: () => `SELECT s.schemaname || '.' || s.relname AS table_name, pg_relation_size(s.relid) AS size, s.*, ${SOURCES.map(
    (source) => `coalesce(io.${source.replace("_", "_blks_")}, 0) AS ${source}`,
  )}
FROM pg_stat_user_tables s LEFT JOIN pg_statio_user_tables io ON io.relid = s.relid WHERE ${NOT_LOCKED("s.relid")}`,
  points: [
    ["n_dead_tup", "postgresql.rows", { state: "dead" }],
    ["n_live_tup", "postgresql.rows", { state: "live" }],
    ...Object.entries(OPERATIONS).map(
      ([operation, column]) => [column, "postgresql.operations", { operation }] as const,
    ),
    ["size", "postgresql.table.size"],
    ["vacuum_count", "postgresql.table.vacuum.count"],
    ["seq_scan", "postgresql.sequential_scans"],
    ...SOURCES.map((source) => [source, "postgresql.blocks_read", { source }] as const),
  ],
};

/**
 * As in the Collector, an index is identified without its schema. Indexes with the same name in several schemas are
 * summed, and have no size while one of them is locked.
 */
export const INDEXES: Statistics = {
  name: "indexes",
  text: () => `SELECT table_name, index_name, sum(idx_scan) AS idx_scan,
  CASE WHEN count(size) = count(*) THEN sum(size) END AS size
FROM (
  SELECT s.relname AS table_name, s.indexrelname AS index_name, s.idx_scan,
    CASE WHEN ${NOT_LOCKED("s.indexrelid")} THEN pg_relation_size(s.indexrelid) END AS size
  FROM pg_stat_user_indexes s
) i GROUP BY table_name, index_name`,
  points: [
    ["idx_scan", "postgresql.index.scans"],
    ["size", "postgresql.index.size"],
  ],
};

const LOCKS = { attributes: { relation: "relname", mode: "mode", lock_type: "locktype" } };
const locksWhere = (condition: string) => `SELECT c.relname, l.mode, l.locktype, count(*) AS locks
FROM pg_locks l JOIN pg_class c ON c.oid = l.relation WHERE ${condition} GROUP BY c.relname, l.mode, l.locktype`;

/** Totals of the connected database. */
export const DATABASE_STATISTICS: readonly Statistics[] = [
  {
    name: "locks",
    onlyFor: ["postgresql.database.locks"],
    text: () => locksWhere("l.database = (SELECT oid FROM pg_database WHERE datname = current_database())"),
    points: [["locks", "postgresql.database.locks"]],
    ...LOCKS,
  },
  {
    name: "functions",
    onlyFor: ["postgresql.function.calls"],
    // Functions of a schema with the same name are told apart by the names of their arguments; functions that still
    // collide are summed.
    text: () => `SELECT sum(calls) AS calls, function FROM (
  SELECT s.calls, CASE WHEN count(*) OVER (PARTITION BY s.schemaname, s.funcname) = 1 OR p.proargnames IS NULL
  THEN s.funcname ELSE s.funcname || '_' || array_to_string(p.proargnames, '_') END AS function
  FROM pg_stat_user_functions s JOIN pg_proc p ON p.oid = s.funcid
) f GROUP BY function`,
    points: [["calls", "postgresql.function.calls"]],
    attributes: { function: "function" },
  },
];

const POSTGRES_17 = 170_000;
const WRITES = "postgresql.bgwriter.buffers.writes";
const CURRENT_LSN = "CASE WHEN pg_is_in_recovery() THEN pg_last_wal_receive_lsn() ELSE pg_current_wal_lsn() END";

/** Statistics of the whole server. */
export const SERVER_STATISTICS: readonly Statistics[] = [
  {
    name: "bgwriter",
    text: (version) =>
      version < POSTGRES_17
        ? `SELECT checkpoints_req AS requested, checkpoints_timed AS scheduled, checkpoint_write_time AS write_ms,
  checkpoint_sync_time AS sync_ms, buffers_checkpoint AS by_checkpoints, buffers_clean AS by_writer,
  buffers_backend AS by_backends, buffers_backend_fsync AS by_fsync, buffers_alloc, maxwritten_clean FROM pg_stat_bgwriter`
        : `SELECT c.num_requested AS requested, c.num_timed AS scheduled, c.write_time AS write_ms, c.sync_time AS sync_ms,
  c.buffers_written AS by_checkpoints, b.buffers_clean AS by_writer, b.buffers_alloc, b.maxwritten_clean
FROM pg_stat_bgwriter b, pg_stat_checkpointer c`,
    points: [
      ["buffers_alloc", "postgresql.bgwriter.buffers.allocated"],
      ["by_writer", WRITES, { source: "bgwriter" }],
      ["by_backends", WRITES, { source: "backend" }],
      ["by_checkpoints", WRITES, { source: "checkpoints" }],
      ["by_fsync", WRITES, { source: "backend_fsync" }],
      ["requested", "postgresql.bgwriter.checkpoint.count", { type: "requested" }],
      ["scheduled", "postgresql.bgwriter.checkpoint.count", { type: "scheduled" }],
      ["sync_ms", "postgresql.bgwriter.duration", { type: "sync" }],
      ["write_ms", "postgresql.bgwriter.duration", { type: "write" }],
      ["maxwritten_clean", "postgresql.bgwriter.maxwritten"],
    ],
  },
  {
    name: "connections",
    text: () => "SELECT current_setting('max_connections') AS max",
    points: [["max", "postgresql.connection.max"]],
  },
  {
    name: "archiver",
    text: () => "SELECT floor(extract(epoch FROM now() - last_archived_time)) AS age FROM pg_stat_archiver",
    points: [["age", "postgresql.wal.age"]],
  },
  {
    name: "replication",
    // If several replicas have the same address, the one that is furthest behind counts.
    text: () => `SELECT coalesce(host(client_addr), 'unix') AS client,
  max(pg_wal_lsn_diff(${CURRENT_LSN}, replay_lsn)) AS behind, extract(epoch FROM max(write_lag)) AS write,
  extract(epoch FROM max(flush_lag)) AS flush, extract(epoch FROM max(replay_lag)) AS replay
FROM pg_stat_replication GROUP BY 1`,
    points: [
      ["behind", "postgresql.replication.data_delay"],
      ...(["write", "flush", "replay"] as const).map(
        (operation) => [operation, "postgresql.wal.delay", { operation }] as const,
      ),
    ],
    attributes: { replication_client: "client" },
  },
  {
    name: "shared locks",
    onlyFor: ["postgresql.database.locks"],
    text: () => locksWhere("l.database = 0 AND c.relisshared"),
    points: [["locks", "postgresql.database.locks"]],
    ...LOCKS,
  },
];

export function* pointsOfRow({ points, attributes: columns = {} }: Statistics, row: TextRow) {
  const ofRow = Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, row[column] ?? ""]));
  for (const [column, metric, attributes] of points) {
    const value = row[column];
    if (value !== undefined && value !== null)
      yield { metric, value: Number(value), attributes: { ...ofRow, ...attributes } };
  }
}
