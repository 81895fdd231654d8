import type { Clock, Logger } from "../../../plugin.js";
import type { AuditRecord } from "../../../runtime/kit.js";
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

const MAX_AUDIT_RECORDS = 1_000_000;
const MAX_REPLAYS = 10_000;
const MAX_DELIVERED = 100_000;

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
  /** Cancels replays that run. */
  close(): Promise<void>;
}

export function createOperatorRecords(settings: OperatorRecordsSettings): OperatorRecords {
  const { clock, logger, createStore, exists } = settings;
  const logOf = <T extends { readonly at: number }>(id: string, retentionMs: number, maxRecords: number) =>
    new RecordLog<T>({ clock, retentionMs, maxRecords, createStore: () => createStore(id), exists: () => exists(id) });
  const log = logOf<AuditRecord>(AUDIT_ID, settings.auditRetentionMs, MAX_AUDIT_RECORDS);
  const replays = logOf<ReplayRecord>(REPLAYS_ID, settings.historyRetentionMs, MAX_REPLAYS);
  const delivered = logOf<DeliveredRecord>(DELIVERED_ID, settings.historyRetentionMs, MAX_DELIVERED);
  const tracker = new ReplayTracker({ replays, delivered, clock, logger });
  const jobs = new ReplayJobs(tracker, clock);
  return {
    ...{ tracker, jobs, audit: new Audit({ log, clock, logger }) },
    async close() {
      jobs.cancelAll();
      await tracker.close();
      for (const each of [log, replays, delivered]) await each.close();
    },
  };
}
