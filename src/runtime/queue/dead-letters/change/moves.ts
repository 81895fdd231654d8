import type { Clock, Logger } from "#contract";
import type { Entry } from "#contract/operations";
import type { Batch } from "#otlp";
import { hasQueue, type QueueControl } from "../../operate/exporter-control.js";
import type { KeptRecord, RecordLog } from "../../records/record-log.js";
import type { NewEntry, StoredEntry } from "../../store/store.js";
import type { Controls } from "../dead-letters.js";
import { runExclusively } from "../run-exclusively.js";
import { replacementOf } from "./edit.js";

/** Entries that are being moved from one queue to another. */
export interface MoveRecord {
  readonly at: number;
  readonly from: string;
  readonly to: string;
  readonly ids: readonly string[];
}

/** A dead letter that is to be moved: where it is, and how it is to be when it may be sent from the other queue. */
export interface Move {
  readonly stored: StoredEntry;
  readonly replayed: Entry;
  readonly batch: Batch;
}

interface MovesServices {
  readonly clock: Clock;
  readonly logger: Logger;
}

const RETRY_MS = 1000;

/**
 * Moves dead letters from the queue of one exporter into that of another. These are two stores, which nothing changes in
 * one step. So it is written down which entries are moved; then each is put into the other store as a dead letter that is
 * `arriving`, which is not sent; then it is removed from the first; then it is made pending. Whatever breaks off:
 *
 * - it is in the first store: the move did not happen, and a copy that arrives is removed;
 * - it is only in the other: the move happened, and is finished.
 *
 * So it is lost at no moment, and sent from one of them only. What broke off is settled before anything is replayed, edited
 * or deleted, and soon after the start.
 */
export class Moves {
  private readonly log: RecordLog<MoveRecord>;
  private readonly services: MovesServices;
  private controls: Controls = new Map();
  private cancelRetry: (() => void) | undefined;
  private settling: Promise<void> | undefined;
  /** Moves of this run that are under way, by the ids of their records. */
  private readonly underWay = new Map<string, readonly string[]>();
  /** Ids whose move cannot be settled, for one of its queues is not there, with the record of it. */
  private readonly unsettled = new Map<string, KeptRecord<MoveRecord>>();

  constructor(log: RecordLog<MoveRecord>, services: MovesServices) {
    this.log = log;
    this.services = services;
  }

  /** Names the queues there are; the map may still grow. */
  setControls(controls: Controls): void {
    this.controls = controls;
  }

  /** Settles what an earlier run has left, as soon as the queues are open. */
  start(): void {
    this.cancelRetry ??= this.services.clock.after(RETRY_MS, () => {
      this.cancelRetry = undefined;
      this.settleLeft().catch((error: unknown) => {
        this.services.logger.warn({ err: error }, "moved dead letters cannot be settled yet; will try again");
        this.start();
      });
    });
  }

  stop(): void {
    this.cancelRetry?.();
    this.cancelRetry = undefined;
  }

  /** Resolves when nothing is left of the moves of earlier runs, but what cannot be settled. */
  settleLeft(): Promise<void> {
    this.settling ??= this.settleAll().catch((error: unknown) => {
      this.settling = undefined;
      throw error;
    });
    return this.settling;
  }

  /** Whether an entry is being moved, or its move broke off and cannot be settled. */
  stateOf(id: string): "now" | "unsettled" | undefined {
    if (this.unsettled.has(id)) return "unsettled";
    return [...this.underWay.values()].some((ids) => ids.includes(id)) ? "now" : undefined;
  }

  /** Somebody sends these though their move is not settled: a copy in the other queue then waits for a person. */
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

  /** Moves them, inside the turn of the store they come from; gives those that are pending in the other now. */
  async move(from: QueueControl, to: QueueControl, moves: readonly Move[]): Promise<StoredEntry[]> {
    const { clock, logger } = this.services;
    const ids = moves.map(({ replayed }) => replayed.id);
    const record = await this.log.add({ at: clock.now(), from: from.id, to: to.id, ids });
    this.underWay.set(record.id, ids);
    try {
      const arrived = await Promise.all(moves.map((move) => to.store.put(arriving(move, from.id))));
      await from.store.delete(moves.map(({ stored }) => stored.ref));
      const replayed = await to.store.replay(arrived.map(arrivedEntry));
      await this.log.remove([record.id]).catch((error: unknown) => {
        logger.warn({ err: error }, "that dead letters were moved is settled again at the next start");
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

  private async settleAll(): Promise<void> {
    for await (const kept of this.log.walk("oldest")) {
      const { id, record } = kept;
      if (this.underWay.has(id)) continue;
      const [from, to] = [this.controls.get(record.from), this.controls.get(record.to)];
      if (from === undefined || to === undefined || !hasQueue(from) || !hasQueue(to)) {
        for (const each of record.ids) this.unsettled.set(each, kept);
        continue;
      }
      for (const each of record.ids) await runExclusively(to.store, () => settle(each, from, to));
      await this.log.remove([id]);
      this.services.logger.info(
        { from: record.from, to: record.to, entries: record.ids.length },
        "a move of dead letters that broke off was settled",
      );
    }
  }
}

function arriving({ stored, replayed, batch }: Move, from: string): NewEntry {
  const failure = stored.entry.failure!;
  return replacementOf({ ...replayed, state: "failed", failure, arriving: { from } }, batch);
}

/** As it may be sent. */
function arrivedEntry({ ref, entry: { arriving: _, failure: __, ...entry } }: StoredEntry) {
  return { ref, entry };
}

async function settle(id: string, from: QueueControl, to: QueueControl): Promise<void> {
  const arrived = await to.store.find(id);
  if (arrived?.entry.arriving?.from !== from.id) return;
  if ((await from.store.find(id)) !== undefined) return to.store.delete([arrived.ref]);
  const replayed = await to.store.replay([arrivedEntry(arrived)]);
  to.onReplayed(replayed.map(({ entry }) => entry));
}
