import type { BuiltInReceiverContext } from "#contract/built-in";
import { BatchIntake, CursorStore, EntryStream } from "#receiving";
import { atIntervals, TimeoutError, withTimeout } from "#resilience";
import { defineReceiver, limitedLog, type Receiver } from "../../plugin.js";
import { type QueryConfig, type SqlQueryConfig, sqlQuerySchema } from "./config.js";
import { dataSourceOf } from "./data-source.js";
import { logEntryOf, metricsOf } from "./row-records.js";
import { openDatabase, type SqlDatabase, type SqlRows } from "./sql-database.js";

/**
 * Runs statements at intervals, and makes metrics and log records of their rows. A tracking value is kept on disk, and
 * advances only once every exporter in the pipeline has the records of the rows before it.
 */
export const sqlQueryReceiver = defineReceiver<SqlQueryConfig>({
  type: "sql_query",
  aliases: ["sqlquery"],
  summary: "Makes metrics and log records of the rows that statements give, in MySQL and PostgreSQL.",
  signals: ["metrics", "logs"],
  workers: "one",
  schema: sqlQuerySchema,
  create: (config, context) => new SqlQueryReceiver(config, context),
});

const TRANSPORT = "sql";
const MAX_RUN_MS = 3_600_000;
/** After so many rows the receiver waits if exporters are slow. */
const ROWS_AT_ONCE = 1000;
const NANOSECONDS = 1_000_000n;

class SqlQueryReceiver implements Receiver {
  private readonly config: SqlQueryConfig;
  private readonly context: BuiltInReceiverContext;
  private readonly store: CursorStore;
  private readonly aborting = new AbortController();
  private readonly databases: SqlDatabase[] = [];
  private readonly intakes: BatchIntake[] = [];
  private readonly streams: EntryStream[] = [];
  private readonly loops = new Set<QueryLoop>();

  constructor(config: SqlQueryConfig, context: BuiltInReceiverContext) {
    this.config = config;
    this.context = context;
    this.store = new CursorStore(config.offsets_directory, context);
  }

  async start(): Promise<void> {
    const { queries } = this.config;
    const { metrics, logs } = this.context.intakes;
    if (logs !== undefined && queries.some(isTracked)) await this.store.load("offsets_directory");
    const runs = [...(metrics === undefined ? [] : this.metricRuns()), ...(logs === undefined ? [] : this.logRuns())];
    for (const [i, [name, run]] of runs.entries()) {
      const loop = new QueryLoop(this.config, this.context, name, this.aborting.signal, (services) =>
        run({ ...services, database: this.databaseOf(i) }),
      );
      this.loops.add(loop);
      loop.start();
    }
  }

  async stop(): Promise<void> {
    this.aborting.abort();
    const stopped = this.intakes.map((intake) => intake.stop());
    await Promise.all([...this.streams].map((stream) => stream.stop()));
    await Promise.all([...this.loops].map((loop) => loop.stop()));
    await Promise.all(stopped);
    for (const database of this.databases) database.close();
    await this.store.close();
  }

  private databaseOf(i: number): SqlDatabase {
    const { max_open_conn: max } = this.config;
    const place = max > 0 ? i % max : i;
    this.databases[place] ??= openDatabase(dataSourceOf(this.config), `sluice ${this.context.id}`);
    return this.databases[place];
  }

  private metricRuns(): [string, RunQuery][] {
    const intake = new BatchIntake({ signal: "metrics", transport: TRANSPORT }, this.context);
    this.intakes.push(intake);
    const start = BigInt(this.context.clock.now()) * NANOSECONDS;
    const interval = BigInt(Math.round(this.config.collection_interval * 1e6));
    return this.config.queries.flatMap((query, i): [string, RunQuery][] => {
      if (query.metrics.length === 0) return [];
      const run: RunQuery = async ({ database, abort, report }) => {
        const result = await database.query(query.sql, undefined, abort);
        reportNulls(query, result, report);
        const now = BigInt(this.context.clock.now()) * NANOSECONDS;
        const batch = metricsOf(query.metrics, result, { start, now, interval }, report);
        if (batch.count > 0) await intake.accept(batch, { transport: TRANSPORT });
      };
      return [[`query ${i + 1}, metrics`, run]];
    });
  }

  private logRuns(): [string, RunQuery][] {
    const intake = new BatchIntake({ signal: "logs", transport: TRANSPORT }, this.context);
    this.intakes.push(intake);
    const names = new Map<string, number>();
    return this.config.queries.flatMap((query, i): [string, RunQuery][] => {
      if (query.logs.length === 0) return [];
      const repeated = names.get(query.sql) ?? 0;
      names.set(query.sql, repeated + 1);
      const cursorName = JSON.stringify([query.sql, query.tracking_column, repeated]);
      const onCursor = (value: string) => this.store.set(cursorName, value);
      const stream = new EntryStream({ intake, transport: TRANSPORT, onCursor }, this.context);
      this.streams.push(stream);
      return [[`query ${i + 1}, logs`, this.logRun(query, stream, cursorName)]];
    });
  }

  private logRun(query: QueryConfig, stream: EntryStream, cursorName: string): RunQuery {
    let tracked = isTracked(query) ? (this.store.get(cursorName) ?? query.tracking_start_value) : undefined;
    return async ({ database, abort, report }) => {
      const result = await database.query(query.sql, tracked, abort);
      reportNulls(query, result, report);
      const { columns, rows } = result;
      for (const logs of query.logs)
        for (const [i, row] of rows.entries()) {
          stream.add(logEntryOf(logs, columns, row, report));
          if ((i + 1) % ROWS_AT_ONCE === 0) await stream.flush();
          if (this.aborting.signal.aborted) return;
        }
      if (isTracked(query)) tracked = trackedValue(query, result, report) ?? tracked;
      if (rows.length > 0) await stream.flush(tracked);
    };
  }
}

/** The services that one run of a query uses. */
interface RunServices {
  readonly database: SqlDatabase;
  readonly abort: AbortSignal;
  /** Reports that a row is not as expected. */
  readonly report: (problem: string) => void;
}

type RunQuery = (services: RunServices) => Promise<void>;

function isTracked({ tracking_column: column }: QueryConfig): boolean {
  return column !== "";
}

/** The value in the last row that has one. */
function trackedValue(
  { tracking_column: name }: QueryConfig,
  { columns, rows }: SqlRows,
  report: (problem: string) => void,
) {
  const at = columns.get(name);
  if (at === undefined && rows.length > 0) report(`there is no column ${name} to track`);
  return at === undefined ? undefined : rows.findLast((row) => row[at] !== undefined)?.[at];
}

function reportNulls(
  { ignore_null_values }: QueryConfig,
  { columns, rows }: SqlRows,
  report: (problem: string) => void,
) {
  if (ignore_null_values) return;
  const found = [...columns].find(([, at]) => rows.some((row) => row[at] === undefined));
  if (found !== undefined) report(`the column ${found[0]} is NULL`);
}

/** Runs one query at intervals: the next run begins when the result of the previous one was handed in. */
class QueryLoop {
  private readonly config: SqlQueryConfig;
  private readonly context: BuiltInReceiverContext;
  private readonly name: string;
  private readonly stopping: AbortSignal;
  private readonly run: (services: Omit<RunServices, "database">) => Promise<void>;
  private readonly log: (reason: string) => void;
  private running: Promise<void> = Promise.resolve();

  constructor(
    config: SqlQueryConfig,
    context: BuiltInReceiverContext,
    name: string,
    stopping: AbortSignal,
    run: (services: Omit<RunServices, "database">) => Promise<void>,
  ) {
    this.config = config;
    this.context = context;
    this.name = name;
    this.stopping = stopping;
    this.run = run;
    this.log = limitedLog(context.clock, (reason, suppressed) =>
      context.logger.warn({ query: name, reason, suppressed }, "a query has failed, or a row is not as expected"),
    );
  }

  start(): void {
    const { initial_delay: first, collection_interval: interval } = this.config;
    this.running = atIntervals({ first, interval }, this.context.clock, this.stopping, () => this.runOnce());
  }

  async stop(): Promise<void> {
    await this.running;
  }

  private async runOnce(): Promise<void> {
    const { clock, health } = this.context;
    const limitMs = this.config.timeout || MAX_RUN_MS;
    try {
      await withTimeout(limitMs, clock, [this.stopping], (abort) =>
        this.run({ abort, report: (problem) => this.log(problem) }),
      );
      health?.source(this.name).up();
    } catch (error) {
      if (this.stopping.aborted) return;
      const reason = error instanceof TimeoutError ? `not finished within ${limitMs} ms` : (error as Error).message;
      this.log(reason);
      health?.source(this.name).down(reason);
    }
  }
}
