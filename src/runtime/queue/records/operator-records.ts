import type { Clock, Logger } from "#contract";
import type { AuditRecord } from "#contract/operations";
import { type MoveRecord, Moves } from "../dead-letters/change/moves.js";
import { type OriginalRecord, Originals } from "../dead-letters/change/originals.js";
import type { RehydrationRecord } from "../rehydrate/rehydration-jobs.js";
import { walkDeadLetters } from "../store/dead-letter-access.js";
import { RECORDS_PREFIX, RecordLog } from "../store/record-log.js";
import type { QueueStore } from "../store/store.js";
import { Audit } from "./audit.js";
import { ReplayJobs } from "./replay-jobs.js";
import { type DeliveredRecord, type ReplayRecord, ReplayTracker } from "./replay-tracker.js";

/** Prefix of the ids of stores that are not queues but hold the records of operators. No exporter has such an id. */
const AUDIT_ID = `${RECORDS_PREFIX}audit`;
const REPLAYS_ID = `${RECORDS_PREFIX}replays`;
const DELIVERED_ID = `${RECORDS_PREFIX}delivered`;
const ORIGINALS_ID = `${RECORDS_PREFIX}originals`;
const REHYDRATIONS_ID = `${RECORDS_PREFIX}rehydrations`;
export const MOVES_ID = `${RECORDS_PREFIX}moves`;

const MAX_AUDIT_RECORDS = 1_000_000;
const MAX_REPLAYS = 10_000;
const MAX_REHYDRATIONS = 1000;
const MAX_DELIVERED = 100_000;
const MAX_ORIGINALS = 100_000;
const MAX_MOVES = 1_000_000;

interface OperatorRecordsSettings {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Creates the store with this id. */
  readonly createStore: (id: string) => QueueStore;
  /** Whether the store with this id was created before. */
  readonly exists: (id: string) => Promise<boolean>;
  readonly auditRetentionMs: number;
  readonly historyRetentionMs: number;
}

/** The records of operators' actions. */
export interface OperatorRecords {
  readonly audit: Audit;
  readonly tracker: ReplayTracker;
  readonly jobs: ReplayJobs;
  /** Payloads replaced by edits, kept for the retention of the history and as long as their entries exist. */
  readonly originals: Originals;
  readonly moves: Moves;
  readonly rehydrations: RecordLog<RehydrationRecord>;
  /** Sets the function that tells whether an entry is still in a queue. Without it, none is. */
  watchEntries(isThere: (id: string) => Promise<boolean>): void;
  /** Adds the records of another worker. `id` is that of its store. Those that were added before are left out. */
  adopt(id: string, from: QueueStore): Promise<void>;
  /** Cancels running replays and closes the stores. */
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
  const rehydrations = logOf<RehydrationRecord>(REHYDRATIONS_ID, historyRetentionMs, MAX_REHYDRATIONS);
  const moving = logOf<MoveRecord>(MOVES_ID, 0, MAX_MOVES);
  const tracker = new ReplayTracker({ replays, delivered, clock, logger });
  const jobs = new ReplayJobs(tracker, clock);
  const moves = new Moves(moving, { clock, logger });
  return {
    tracker,
    jobs,
    moves,
    rehydrations,
    originals: new Originals(kept),
    audit: new Audit({ log, clock, logger }),
    watchEntries(known) {
      isThere = known;
    },
    async adopt(id, from) {
      const to = { [AUDIT_ID]: log, [REPLAYS_ID]: replays, [DELIVERED_ID]: delivered, [ORIGINALS_ID]: kept }[id];
      if (to === undefined) return;
      for await (const stored of walkDeadLetters(from, "oldest"))
        await to.adopt(stored, await from.payload(stored.ref));
    },
    async close() {
      jobs.cancelAll();
      moves.stop();
      await tracker.close();
      for (const each of [log, replays, delivered, kept, moving, rehydrations]) await each.close();
    },
  };
}
