import type { Clock, Logger } from "#contract";
import type { AuditRecord } from "#contract/operations";
import { type MoveRecord, Moves } from "../dead-letters/change/moves.js";
import { type OriginalRecord, Originals } from "../dead-letters/change/originals.js";
import type { QueueStore } from "../store/store.js";
import { Audit } from "./audit.js";
import { RecordLog } from "./record-log.js";
import { ReplayJobs } from "./replay-jobs.js";
import { type DeliveredRecord, type ReplayRecord, ReplayTracker } from "./replay-tracker.js";

/** Begins the ids of the stores that are no queues: what operators did is in them. No exporter of ours has such an id. */
const RECORDS_PREFIX = "operators/";
const AUDIT_ID = `${RECORDS_PREFIX}audit`;
const REPLAYS_ID = `${RECORDS_PREFIX}replays`;
const DELIVERED_ID = `${RECORDS_PREFIX}delivered`;
const ORIGINALS_ID = `${RECORDS_PREFIX}originals`;
const MOVES_ID = `${RECORDS_PREFIX}moves`;

const MAX_AUDIT_RECORDS = 1_000_000;
const MAX_REPLAYS = 10_000;
const MAX_DELIVERED = 100_000;
const MAX_ORIGINALS = 100_000;
const MAX_MOVES = 1_000_000;

/** How long the audit is kept unless the config says otherwise; 90 days. */
export const DEFAULT_AUDIT_RETENTION_MS = 90 * 24 * 3_600_000;

/** The same of replays and of what was delivered by them; 7 days. */
export const DEFAULT_HISTORY_RETENTION_MS = 7 * 24 * 3_600_000;

export function isRecordsId(id: string): boolean {
  return id.startsWith(RECORDS_PREFIX);
}

export interface OperatorRecordsSettings {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Makes the store of this id. */
  readonly createStore: (id: string) => QueueStore;
  /** Whether it was made before. */
  readonly exists: (id: string) => Promise<boolean>;
  readonly auditRetentionMs: number;
  readonly historyRetentionMs: number;
}

/** What is kept of what operators did. */
export interface OperatorRecords {
  readonly audit: Audit;
  readonly tracker: ReplayTracker;
  readonly jobs: ReplayJobs;
  /** Payloads that edits have replaced: for as long as the history, and as long as their entries are there. */
  readonly originals: Originals;
  readonly moves: Moves;
  /** Says which entries are still in a queue; without it none is. */
  watchEntries(isThere: (id: string) => Promise<boolean>): void;
  /** Cancels replays that run. */
  close(): Promise<void>;
}

export function createOperatorRecords(settings: OperatorRecordsSettings): OperatorRecords {
  const { clock, logger, createStore, exists, historyRetentionMs } = settings;
  let isThere = async (_id: string) => false;
  const logOf = <T extends { readonly at: number }>(
    id: string,
    retentionMs: number,
    maxRecords: number,
    mayRemove?: (record: T) => Promise<boolean>,
  ) => {
    const store = { createStore: () => createStore(id), exists: () => exists(id) };
    return new RecordLog<T>({ clock, retentionMs, maxRecords, mayRemove, ...store });
  };
  const log = logOf<AuditRecord>(AUDIT_ID, settings.auditRetentionMs, MAX_AUDIT_RECORDS);
  const replays = logOf<ReplayRecord>(REPLAYS_ID, historyRetentionMs, MAX_REPLAYS);
  const delivered = logOf<DeliveredRecord>(DELIVERED_ID, historyRetentionMs, MAX_DELIVERED);
  const isUnused = async ({ entryId }: OriginalRecord) => !(await isThere(entryId));
  const kept = logOf<OriginalRecord>(ORIGINALS_ID, historyRetentionMs, MAX_ORIGINALS, isUnused);
  const moving = logOf<MoveRecord>(MOVES_ID, 0, MAX_MOVES);
  const tracker = new ReplayTracker({ replays, delivered, clock, logger });
  const jobs = new ReplayJobs(tracker, clock);
  const moves = new Moves(moving, { clock, logger });
  return {
    ...{ tracker, jobs, moves, originals: new Originals(kept), audit: new Audit({ log, clock, logger }) },
    watchEntries(known) {
      isThere = known;
    },
    async close() {
      jobs.cancelAll();
      moves.stop();
      await tracker.close();
      for (const each of [log, replays, delivered, kept, moving]) await each.close();
    },
  };
}
