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
import type { RecordLog } from "../store/record-log.js";

const DEFAULT_PAGE_SIZE = 50;
const MAX_PAGE_SIZE = 1000;
/** Limits the time of one request whose filter finds little. */
const MAX_SCANNED = 5000;

/** A repeated search is recorded again only after this time. */
const SAME_SEARCH_MS = 10 * 60_000;
const MAX_SEARCHES = 1000;
/** Longer conditions are cut off. */
const MAX_FILTER_LENGTH = 1000;

interface AuditServices {
  readonly log: RecordLog<AuditRecord>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Records who did what and when. Records cannot be changed, and are removed only by age and number. */
export class Audit {
  private readonly services: AuditServices;
  /** Time when each search was last recorded, the oldest first. */
  private readonly searches = new Map<string, number>();

  constructor(services: AuditServices) {
    this.services = services;
  }

  /** Resolves when the record is on disk. Rejects if it cannot be written. */
  async add(operator: Operator, done: Omit<AuditRecord, "at" | keyof Operator>): Promise<void> {
    const { log, clock } = this.services;
    try {
      await log.add(withoutUndefined({ at: clock.now(), ...operator, ...done }));
    } catch (error) {
      throw new AdminError("unavailable", `the audit cannot be written: ${(error as Error).message}`, { cause: error });
    }
  }

  /** Like `add`, for actions already done. If the audit cannot be written, the record goes to the agent's log. */
  async addAfterwards(operator: Operator, done: Omit<AuditRecord, "at" | keyof Operator>): Promise<void> {
    try {
      await this.add(operator, done);
    } catch (error) {
      this.services.logger.error({ err: error, ...operator, ...done }, "the audit cannot be written");
    }
  }

  /**
   * Records that a user searches dead letters by the content of their records, before the search is made. The pages
   * of one search, and the repeated requests of a console, count as one search for a while.
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
    if (oldest !== undefined && this.searches.size > MAX_SEARCHES) this.searches.delete(oldest);
    try {
      await this.add(operator, { action: "search", filter: shortened(filter), outcome: "done" });
    } catch (error) {
      this.searches.delete(key);
      throw error;
    }
  }

  /** Returns one page, the newest records first. */
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

function withoutUndefined({ filter, ...record }: AuditRecord): AuditRecord {
  const { matchesMasked: _, ...written } = filter ?? {};
  return definedOnly({ ...record, filter: filter && written });
}

function definedOnly(record: AuditRecord): AuditRecord {
  return Object.fromEntries(
    Object.entries(record).filter(([, value]) => value !== undefined),
  ) as unknown as AuditRecord;
}
