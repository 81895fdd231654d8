import type { Clock, Logger } from "#contract";
import type { Entry, Failure } from "#contract/operations";
import type { Batch } from "#otlp";
import { runExclusively } from "../../store/dead-letter-access.js";
import { replacementOf } from "../../store/format/entry.js";
import type { KeptRecord, RecordLog } from "../../store/record-log.js";
import type { NewEntry, StoredEntry } from "../../store/store.js";
import type { Controls } from "../dead-letters.js";
import { hasQueue, type QueueControl } from "../exporter-control.js";

/** Entries that are being moved from one queue to another. */
export interface MoveRecord {
  readonly at: number;
  readonly from: string;
  readonly to: string;
  readonly ids: readonly string[];
}

/**
 * An entry to move: where it is stored, and how it should be in the other queue, pending or a dead letter. `failure` is
 * what a pending entry shows while it arrives.
 */
export interface Move {
  readonly stored: StoredEntry;
  readonly replayed: Entry;
  readonly failure?: Failure;
  readonly batch: Batch;
}

interface MovesServices {
  readonly clock: Clock;
  readonly logger: Logger;
}

const RETRY_MS = 1000;

/** Opens a queue that no exporter has; undefined if there is none. `close` must be called. */
type UseOrphan = (id: string) => Promise<{ readonly control: QueueControl; close(): Promise<void> } | undefined>;

/**
 * Moves dead letters from one exporter's queue to another's. These are two stores, which cannot be changed atomically.
 * So a move has four steps: record which entries are moved; put each into the other store as a dead letter marked
 * `arriving`, which is not sent; remove it from the first store; make it pending. If a move is interrupted:
 *
 * - the entry is still in the first store: the move is undone, and an arriving copy is removed;
 * - the entry is only in the other store: the move is completed.
 *
 * So an entry is never lost, and is sent from only one of the stores. Interrupted moves are settled soon after the
 * start, and before anything is replayed, edited or deleted.
 */
export class Moves {
  private readonly log: RecordLog<MoveRecord>;
  private readonly services: MovesServices;
  private controls: Controls = new Map();
  private useOrphan: UseOrphan = async () => undefined;
  private cancelRetry: (() => void) | undefined;
  private settling: Promise<void> | undefined;
  /** Moves of this run that are under way: entry ids by record id. */
  private readonly underWay = new Map<string, readonly string[]>();
  /** Interrupted moves that cannot be settled because one of the queues does not exist: records by entry id. */
  private readonly unsettled = new Map<string, KeptRecord<MoveRecord>>();

  constructor(log: RecordLog<MoveRecord>, services: MovesServices) {
    this.log = log;
    this.services = services;
  }

  /** Sets the queues. More may be added to the map later. */
  setControls(controls: Controls): void {
    this.controls = controls;
  }

  /** Sets how queues that no exporter has any more are opened, so that moves from and to them can be settled. */
  setOrphans(useOrphan: UseOrphan): void {
    this.useOrphan = useOrphan;
  }

  /** Settles moves that an earlier run left interrupted, as soon as the queues are open. */
  start(): void {
    this.cancelRetry ??= this.services.clock.after(RETRY_MS, () => {
      this.cancelRetry = undefined;
      this.settleInterrupted().catch((error: unknown) => {
        this.services.logger.warn({ err: error }, "moved dead letters cannot be settled yet; will try again");
        this.start();
      });
    });
  }

  stop(): void {
    this.cancelRetry?.();
    this.cancelRetry = undefined;
  }

  /**
   * Resolves when all interrupted moves are settled, except those that cannot be because one of their queues does not
   * exist. It may exist later, because some queues are opened only when they are needed: the next call tries them again.
   */
  settleInterrupted(): Promise<void> {
    this.settling ??= this.settleAll().then(
      () => {
        if (this.unsettled.size > 0) this.settling = undefined;
      },
      (error: unknown) => {
        this.settling = undefined;
        throw error;
      },
    );
    return this.settling;
  }

  /** Whether an entry is being moved, or its interrupted move cannot be settled. */
  stateOf(id: string): "now" | "unsettled" | undefined {
    if (this.unsettled.has(id)) return "unsettled";
    return [...this.underWay.values()].some((ids) => ids.includes(id)) ? "now" : undefined;
  }

  /**
   * To be called when an operator replays these entries although their move is not settled. A copy in the other queue
   * then waits for an operator.
   */
  async forget(ids: readonly string[]): Promise<void> {
    for (const id of ids) {
      const kept = this.unsettled.get(id);
      if (kept === undefined) continue;
      const record = { ...kept.record, ids: kept.record.ids.filter((each) => each !== id) };
      await this.log.replace(kept, record);
      this.unsettled.delete(id);
      for (const each of record.ids) this.unsettled.set(each, { ...kept, record });
    }
  }

  /**
   * Moves entries. To be called within `runExclusively` of the source store. Returns those that are now pending in the
   * other queue.
   */
  async move(from: QueueControl, to: QueueControl, moves: readonly Move[]): Promise<StoredEntry[]> {
    const { clock, logger } = this.services;
    const ids = moves.map(({ replayed }) => replayed.id);
    const record = await this.log.add({ at: clock.now(), from: from.id, to: to.id, ids });
    this.underWay.set(record.id, ids);
    try {
      const arrived = await Promise.all(moves.map((move) => to.store.put(arriving(move, from.id))));
      await from.store.delete(moves.map(({ stored }) => stored.ref));
      const replayed = await arrive(to, arrived);
      await this.log.remove([record.id]).catch((error: unknown) => {
        logger.warn({ err: error }, "could not record that dead letters were moved; the next start settles this");
      });
      return replayed;
    } catch (error) {
      this.settling = undefined;
      this.start();
      throw error;
    } finally {
      this.underWay.delete(record.id);
    }
  }

  private async queueOf(id: string): ReturnType<UseOrphan> {
    const control = this.controls.get(id);
    if (control === undefined) return this.useOrphan(id);
    return hasQueue(control) ? { control, close: async () => {} } : undefined;
  }

  private async settleAll(): Promise<void> {
    for await (const kept of this.log.walk("oldest")) {
      const { id, record } = kept;
      if (this.underWay.has(id)) continue;
      const from = await this.queueOf(record.from);
      const to = await this.queueOf(record.to);
      try {
        if (from === undefined || to === undefined) {
          for (const each of record.ids) this.unsettled.set(each, kept);
          continue;
        }
        for (const each of record.ids)
          await runExclusively(to.control.store, () => settle(each, from.control, to.control));
        await this.log.remove([id]);
        for (const each of record.ids) this.unsettled.delete(each);
      } finally {
        await from?.close();
        await to?.close();
      }
      this.services.logger.info(
        { from: record.from, to: record.to, entries: record.ids.length },
        "an interrupted move of dead letters was settled",
      );
    }
  }
}

function arriving({ stored, replayed, batch, ...move }: Move, from: string): NewEntry {
  const failure = (stored.entry.failure ?? move.failure)!;
  const mark = replayed.state === "failed" ? { from, isDead: true } : { from };
  return replacementOf({ ...replayed, state: "failed", failure, arriving: mark }, batch);
}

/** Removes the marks of a move: entries are dead letters, or become pending. Returns the pending ones. */
async function arrive({ store }: QueueControl, arrived: readonly StoredEntry[]): Promise<StoredEntry[]> {
  const dead = arrived.filter(({ entry }) => entry.arriving?.isDead === true);
  for (const { ref, entry } of dead) await store.fail(ref, withoutMark(entry));
  const pending = arrived.filter((each) => !dead.includes(each));
  if (pending.length === 0) return [];
  return store.replay(
    pending.map(({ ref, entry }) => {
      const { failure: _, ...rest } = withoutMark(entry);
      return { ref, entry: rest };
    }),
  );
}

function withoutMark({ arriving: _, ...entry }: Entry): Entry {
  return entry;
}

async function settle(id: string, from: QueueControl, to: QueueControl): Promise<void> {
  const arrived = await to.store.find(id);
  if (arrived?.entry.arriving?.from !== from.id) return;
  if ((await from.store.find(id)) !== undefined) return to.store.delete([arrived.ref]);
  const replayed = await arrive(to, [arrived]);
  if (replayed.length > 0) to.onReplayed(replayed.map(({ entry }) => entry));
}
