import type { MysqlMetric } from "./metrics.js";

/** Variables of SHOW GLOBAL STATUS by the value of the attribute that their points have. */
interface StatusGroup {
  readonly attribute: string;
  readonly variables: Readonly<Record<string, string>>;
}

/** The point of a status variable. */
interface StatusPoint {
  readonly metric: MysqlMetric;
  readonly attributes: Readonly<Record<string, string>>;
  /** The variable's unit in that of the metric. */
  readonly factor: number;
}

const HANDLERS =
  `commit delete discover external_lock mrr_init prepare read_first read_key read_last read_next read_prev read_rnd
  read_rnd_next rollback savepoint savepoint_rollback update write`.split(/\s+/);
const COMMANDS =
  `alter_table create_index create_table delete delete_multi insert optimize select update update_multi`.split(/\s+/);
const POOL_OPERATIONS =
  "read_ahead_rnd read_ahead read_ahead_evicted read_requests reads wait_free write_requests".split(" ");

const prefixed = (prefix: string, names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, `${prefix}${name}`]));

/** Metrics with an attribute. */
const GROUPS: Partial<Record<MysqlMetric, StatusGroup>> = {
  "mysql.buffer_pool.operations": {
    attribute: "operation",
    variables: prefixed("Innodb_buffer_pool_", POOL_OPERATIONS),
  },
  "mysql.buffer_pool.pages": {
    attribute: "kind",
    variables: prefixed("Innodb_buffer_pool_pages_", ["data", "free", "misc", "total"]),
  },
  "mysql.client.network.io": { attribute: "kind", variables: prefixed("Bytes_", ["received", "sent"]) },
  "mysql.commands": { attribute: "command", variables: prefixed("Com_", COMMANDS) },
  "mysql.connection.errors": {
    attribute: "error",
    variables: {
      ...prefixed("Connection_errors_", ["accept", "internal", "max_connections", "peer_address"]),
      select: "Connection_errors_select",
      tcpwrap: "Connection_errors_tcpwrap",
      aborted: "Aborted_connects",
      aborted_clients: "Aborted_clients",
      locked: "Locked_connects",
    },
  },
  "mysql.double_writes": { attribute: "kind", variables: prefixed("Innodb_dblwr_", ["pages_written", "writes"]) },
  "mysql.handlers": { attribute: "kind", variables: prefixed("Handler_", HANDLERS) },
  "mysql.innodb.data_file.io": {
    attribute: "disk.io.direction",
    variables: { read: "Innodb_data_read", write: "Innodb_data_written" },
  },
  "mysql.innodb.operation.pending": {
    attribute: "operation",
    variables: prefixed("Innodb_data_pending_", ["fsyncs", "reads", "writes"]),
  },
  "mysql.joins": {
    attribute: "kind",
    variables: {
      full: "Select_full_join",
      full_range: "Select_full_range_join",
      range: "Select_range",
      range_check: "Select_range_check",
      scan: "Select_scan",
    },
  },
  "mysql.locks": { attribute: "kind", variables: prefixed("Table_locks_", ["immediate", "waited"]) },
  "mysql.log_operations": {
    attribute: "operation",
    variables: {
      ...prefixed("Innodb_log_", ["waits", "write_requests", "writes"]),
      fsyncs: "Innodb_os_log_fsyncs",
    },
  },
  "mysql.mysqlx_connections": {
    attribute: "status",
    variables: prefixed("Mysqlx_connections_", ["accepted", "closed", "rejected"]),
  },
  "mysql.mysqlx_worker_threads": {
    attribute: "kind",
    variables: { available: "Mysqlx_worker_threads", active: "Mysqlx_worker_threads_active" },
  },
  "mysql.opened_resources": {
    attribute: "kind",
    variables: { file: "Opened_files", table: "Opened_tables", table_definition: "Opened_table_definitions" },
  },
  "mysql.operations": { attribute: "operation", variables: prefixed("Innodb_data_", ["fsyncs", "reads", "writes"]) },
  "mysql.page_operations": {
    attribute: "operation",
    variables: prefixed("Innodb_pages_", ["created", "read", "written"]),
  },
  "mysql.prepared_statements": {
    attribute: "command",
    variables: prefixed("Com_stmt_", ["execute", "close", "fetch", "prepare", "reset", "send_long_data"]),
  },
  "mysql.row_locks": {
    attribute: "kind",
    variables: { waits: "Innodb_row_lock_waits", time: "Innodb_row_lock_time" },
  },
  "mysql.row_operations": {
    attribute: "operation",
    variables: prefixed("Innodb_rows_", ["deleted", "inserted", "read", "updated"]),
  },
  "mysql.sorts": { attribute: "kind", variables: prefixed("Sort_", ["merge_passes", "range", "rows", "scan"]) },
  "mysql.table_open_cache": {
    attribute: "status",
    variables: {
      hit: "Table_open_cache_hits",
      miss: "Table_open_cache_misses",
      overflow: "Table_open_cache_overflows",
    },
  },
  "mysql.threads": {
    attribute: "kind",
    variables: prefixed("Threads_", ["cached", "connected", "created", "running"]),
  },
  "mysql.tmp_resources": {
    attribute: "resource",
    variables: prefixed("Created_tmp_", ["disk_tables", "files", "tables"]),
  },
};

/** Metrics without attributes. */
const PLAIN: Partial<Record<MysqlMetric, string>> = {
  "mysql.buffer_pool.page_flushes": "Innodb_buffer_pool_pages_flushed",
  "mysql.connection.count": "Connections",
  "mysql.file.open": "Open_files",
  "mysql.innodb.row_lock.wait.count": "Innodb_row_lock_current_waits",
  "mysql.innodb.row_lock.wait.duration.avg": "Innodb_row_lock_time_avg",
  "mysql.innodb.row_lock.wait.duration.max": "Innodb_row_lock_time_max",
  "mysql.max_used_connections": "Max_used_connections",
  "mysql.page_size": "Innodb_page_size",
  "mysql.query.client.count": "Questions",
  "mysql.query.count": "Queries",
  "mysql.query.slow.count": "Slow_queries",
  "mysql.table.open": "Open_tables",
  "mysql.thread.slow_launch": "Slow_launch_threads",
  "mysql.uptime": "Uptime",
};

/** The server measures these in milliseconds, and the metric has seconds. */
const IN_MILLISECONDS: ReadonlySet<string> = new Set(["Innodb_row_lock_time_avg", "Innodb_row_lock_time_max"]);

/** The points of status variables, by the variable's name. */
export const STATUS_POINTS: ReadonlyMap<string, StatusPoint> = new Map([
  ...(Object.entries(PLAIN) as [MysqlMetric, string][]).map(([metric, variable]) => {
    const factor = IN_MILLISECONDS.has(variable) ? 0.001 : 1;
    return [variable, { metric, attributes: {}, factor }] as const;
  }),
  ...(Object.entries(GROUPS) as [MysqlMetric, StatusGroup][]).flatMap(([metric, { attribute, variables }]) =>
    Object.entries(variables).map(
      ([value, variable]) => [variable, { metric, attributes: { [attribute]: value }, factor: 1 }] as const,
    ),
  ),
]);

/** The clean part is the total without its dirty part. */
export const DIRTY_AND_TOTAL = [
  ["mysql.buffer_pool.data_pages", "Innodb_buffer_pool_pages_dirty", "Innodb_buffer_pool_pages_data"],
  ["mysql.buffer_pool.usage", "Innodb_buffer_pool_bytes_dirty", "Innodb_buffer_pool_bytes_data"],
] as const;

/** The same number by its names in several versions. */
export const REPLICA_TEMP_TABLES = ["Replica_open_temp_tables", "Slave_open_temp_tables"] as const;
