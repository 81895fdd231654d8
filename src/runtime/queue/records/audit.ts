import type { Clock, Logger } from "#contract";
import {
  AdminError,
  AUDITED_ACTIONS,
  type AuditPage,
  type AuditQuery,
  type AuditRecord,
  type DeadLetterQuery,
  type Operator,
  RECORD_FILTERS,
} from "#contract/operations";
import type { RecordLog } from "./record-log.js";

const DEFAULT_PAGE_SIZE = 50;
const MAX_PAGE_SIZE = 1000;
/** A filter that finds little must not make one answer take long. */
const MAX_SCANNED = 5000;

/** The same search is kept again after so long. */
const SAME_SEARCH_MS = 10 * 60_000;
const MAX_SEARCHES = 1000;
/** Of a condition that is longer the beginning is kept. */
const MAX_FILTER_LENGTH = 1000;

export interface AuditServices {
  readonly log: RecordLog<AuditRecord>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Who did what when. There is no way to change or remove a record but its age. */
export class Audit {
  private readonly services: AuditServices;
  /** When each was last kept, the oldest first. */
  private readonly searches = new Map<string, number>();

  constructor(services: AuditServices) {
    this.services = services;
  }

  /** Resolves when it is on disk. */
  async add(operator: Operator, done: Omit<AuditRecord, "at" | keyof Operator>): Promise<void> {
    const { log, clock } = this.services;
    try {
      await log.add(withoutUndefined({ at: clock.now(), ...operator, ...done }));
    } catch (error) {
      throw new AdminError("unavailable", `the audit cannot be written: ${(error as Error).message}`, { cause: error });
    }
  }

  /** The same for what has been done already: what cannot be kept is in the log of the agent at least. */
  async addAfterwards(operator: Operator, done: Omit<AuditRecord, "at" | keyof Operator>): Promise<void> {
    try {
      await this.add(operator, done);
    } catch (error) {
      this.services.logger.error({ err: error, ...operator, ...done }, "the audit cannot be written");
    }
  }

  /**
   * Somebody looks for dead letters by what is in their records, which is kept before anything is found. The pages of one
   * search, and a console that asks again and again, are one record for a while.
   */
  async addSearch(operator: Operator, query: DeadLetterQuery): Promise<void> {
    if (RECORD_FILTERS.every((name) => query[name] === undefined)) return;
    const { limit: _, cursor: __, order: ___, ...filter } = query;
    const { since: ____, until: _____, ...lasting } = filter;
    const key = JSON.stringify([operator.actor, operator.from, Object.entries(lasting).sort()]);
    const now = this.services.clock.now();
    const before = this.searches.get(key);
    if (before !== undefined && Math.abs(now - before) < SAME_SEARCH_MS) return;
    this.searches.delete(key);
    this.searches.set(key, now);
    const [oldest] = this.searches.keys();
    if (this.searches.size > MAX_SEARCHES) this.searches.delete(oldest!);
    try {
      await this.add(operator, { action: "search", filter: shortened(filter), outcome: "done" });
    } catch (error) {
      this.searches.delete(key);
      throw error;
    }
  }

  /** A page, the newest first. */
  async list(query: AuditQuery): Promise<AuditPage> {
    const { limit = DEFAULT_PAGE_SIZE, cursor } = query;
    checkAuditQuery(query);
    const records: AuditRecord[] = [];
    let scanned = 0;
    let last = cursor === undefined ? undefined : positionOf(cursor);
    for await (const { ref, record } of this.services.log.walk("newest", last)) {
      const isMatch = matches(record, query);
      if (scanned >= MAX_SCANNED || (isMatch && records.length === limit)) return { records, cursor: String(last) };
      if (isMatch) records.push(record);
      scanned++;
      last = ref;
    }
    return { records };
  }
}

function shortened(filter: DeadLetterQuery): NonNullable<AuditRecord["filter"]> {
  const short = (value: unknown) =>
    typeof value === "string" && value.length > MAX_FILTER_LENGTH ? `${value.slice(0, MAX_FILTER_LENGTH)}…` : value;
  return Object.fromEntries(Object.entries(filter).map(([name, value]) => [name, short(value)]));
}

function matches(record: AuditRecord, { since, until, actor, action }: AuditQuery): boolean {
  return (
    (since === undefined || record.at >= since) &&
    (until === undefined || record.at < until) &&
    (actor === undefined || record.actor === actor) &&
    (action === undefined || record.action === action)
  );
}

function checkAuditQuery({ action, limit }: AuditQuery): void {
  if (action !== undefined && !AUDITED_ACTIONS.some((known) => known === action))
    throw new AdminError("bad_request", `there is no action ${JSON.stringify(action)}: ${AUDITED_ACTIONS.join(", ")}`);
  if (limit !== undefined && !(Number.isInteger(limit) && limit >= 1 && limit <= MAX_PAGE_SIZE))
    throw new AdminError("bad_request", `limit must be a number from 1 to ${MAX_PAGE_SIZE}`);
}

function positionOf(cursor: string): number {
  if (/^\d{1,15}$/.test(cursor)) return Number(cursor);
  throw new AdminError(
    "bad_request",
    "the cursor is damaged: give it as it was printed, or leave it out to start over",
  );
}

function withoutUndefined(record: AuditRecord): AuditRecord {
  return Object.fromEntries(
    Object.entries(record).filter(([, value]) => value !== undefined),
  ) as unknown as AuditRecord;
}
