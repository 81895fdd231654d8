import { counter, gauge, type MetricTable, optional, upDown } from "#receiving";

/** Metrics of a server, its databases, tables and indexes, with the Collector's names. */
export const POSTGRESQL_METRICS = {
  "postgresql.backends": upDown("1", "The number of backends of each database."),
  "postgresql.bgwriter.buffers.allocated": counter("{buffers}", "Number of buffers allocated."),
  "postgresql.bgwriter.buffers.writes": counter("{buffers}", "Number of buffers written, by source."),
  "postgresql.bgwriter.checkpoint.count": counter("{checkpoints}", "The number of checkpoints performed, by type."),
  "postgresql.bgwriter.duration": counter("ms", "Time spent writing and syncing files by checkpoints.", false),
  "postgresql.bgwriter.maxwritten": counter(
    "1",
    "Times the background writer stopped because it had written too many buffers.",
  ),
  "postgresql.blks_hit": optional(counter("{blks_hit}", "Disk blocks found in the buffer cache.")),
  "postgresql.blks_read": optional(counter("{blks_read}", "Disk blocks read in this database.")),
  "postgresql.blocks_read": counter("1", "The number of blocks read of a table, by source."),
  "postgresql.commits": counter("1", "The number of commits."),
  "postgresql.connection.max": gauge("{connections}", "How many client connections are allowed.", true),
  "postgresql.database.count": upDown("{databases}", "Number of databases that are measured."),
  "postgresql.database.locks": optional(gauge("{lock}", "The number of locks, by relation, mode and type.", true)),
  "postgresql.db_size": upDown("By", "The disk usage of the database."),
  "postgresql.deadlocks": optional(counter("{deadlock}", "The number of deadlocks.")),
  "postgresql.function.calls": optional(
    counter("{call}", "The number of calls of a function; needs track_functions in the server's config."),
  ),
  "postgresql.index.scans": counter("{scans}", "The number of scans of an index."),
  "postgresql.index.size": gauge("By", "The size of the index on disk.", true),
  "postgresql.operations": counter("1", "The number of row operations of a table, by operation."),
  "postgresql.query.conflicts": optional(counter("{query}", "Queries cancelled by recovery on a standby, by type.")),
  "postgresql.query.execution.time": optional(
    counter("s", "Time spent executing statements, by pg_stat_statements, which must be installed.", false),
  ),
  "postgresql.replication.data_delay": gauge("By", "How many bytes a replica is behind.", true),
  "postgresql.rollbacks": counter("1", "The number of rollbacks."),
  "postgresql.rows": upDown("1", "The number of rows of a table, dead and live."),
  "postgresql.sequential_scans": optional(counter("{sequential_scan}", "The number of sequential scans of a table.")),
  "postgresql.table.count": upDown("{table}", "Number of user tables in a database."),
  "postgresql.table.size": upDown("By", "Disk space used by a table."),
  "postgresql.table.vacuum.count": counter("{vacuum}", "Times a table was vacuumed by hand."),
  "postgresql.temp.io": optional(counter("By", "Bytes written to temporary files by queries.")),
  "postgresql.temp_files": optional(counter("{temp_file}", "The number of temporary files.")),
  "postgresql.tup_deleted": optional(counter("{tup_deleted}", "Rows deleted by queries.")),
  "postgresql.tup_fetched": optional(counter("{tup_fetched}", "Rows fetched by queries.")),
  "postgresql.tup_inserted": optional(counter("{tup_inserted}", "Rows inserted by queries.")),
  "postgresql.tup_returned": optional(counter("{tup_returned}", "Rows returned by queries.")),
  "postgresql.tup_updated": optional(counter("{tup_updated}", "Rows updated by queries.")),
  "postgresql.wal.age": gauge("s", "Age of the newest archived WAL file.", true),
  "postgresql.wal.delay": optional(gauge("s", "Time until a replica has written, flushed and replayed recent WAL.")),
} as const satisfies MetricTable;

export type PostgresqlMetric = keyof typeof POSTGRESQL_METRICS;
