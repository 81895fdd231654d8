import { hangUp, loadPostgres, openPostgres, postgresOptions } from "#brokers/postgres";
import { agentName, type PostgresStoreConfig, postgresStoreError, tablesOf } from "./postgres-config.js";
import { lockNumber } from "./postgres-statements.js";
import { ROW_STATES } from "./row-table.js";

/** A queue in the table, of any agent. */
export interface PostgresQueue {
  readonly agent: string;
  /** The exporter or journal. */
  readonly id: string;
  readonly pending: number;
  readonly failed: number;
  /** Whether an agent has the queue open. */
  readonly isOpen: boolean;
}

/**
 * Lists the queues of all agents; none if there is no table. Rejects with a `StoreError` if the server cannot be
 * queried.
 */
export async function listPostgresQueues(config: PostgresStoreConfig): Promise<PostgresQueue[]> {
  try {
    const options = await postgresOptions(config, agentName(config));
    const client = await openPostgres(await loadPostgres(), { ...options, query_timeout: config.timeout }, () => {});
    try {
      const tables = tablesOf(config);
      const there = await client.query("SELECT to_regclass($1) AS notes", [tables.notes]);
      if (there.rows[0].notes === null) return [];
      const { rows } = await client.query(queuesText(tables));
      return rows.map(({ queue, pending, failed, is_open: isOpen }) => {
        const [, agent = "", id = ""] = /^([^/]*)\/(.*)$/s.exec(queue) ?? [];
        return { agent, id, pending: Number(pending), failed: Number(failed), isOpen };
      });
    } finally {
      hangUp(client);
    }
  } catch (error) {
    throw postgresStoreError(config, error);
  }
}

/** pg_locks shows a session's advisory lock as the two halves of its number. */
function queuesText(tables: ReturnType<typeof tablesOf>): string {
  const count = (state: number) =>
    `(SELECT count(*) FROM ${tables.entries} e WHERE e.queue = q.queue AND e.state = ${state})`;
  return `SELECT q.queue, ${count(ROW_STATES.pending)} AS pending, ${count(ROW_STATES.failed)} AS failed,
    EXISTS (SELECT FROM pg_locks l WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND (l.classid::bigint << 32 | l.objid::bigint) = ${lockNumber(tables, "q.queue")}) AS is_open
    FROM ${tables.queues} q ORDER BY q.queue`;
}
