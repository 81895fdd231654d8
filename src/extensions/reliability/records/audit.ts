import type { Clock, Logger } from "../../../plugin.js";
import {
  AdminError,
  AUDITED_ACTIONS,
  type AuditPage,
  type AuditQuery,
  type AuditRecord,
  type Operator,
} from "../../../runtime/kit.js";
import type { RecordLog } from "./record-log.js";

const DEFAULT_PAGE_SIZE = 50;
const MAX_PAGE_SIZE = 1000;
/** A filter that finds little must not make one answer take long. */
const MAX_SCANNED = 5000;

export interface AuditServices {
  readonly log: RecordLog<AuditRecord>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Who did what when. There is no way to change or remove a record but its age. */
export class Audit {
  private readonly services: AuditServices;

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
