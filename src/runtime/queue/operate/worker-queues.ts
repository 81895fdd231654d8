import { isKeyedEntryId } from "#contract/calls";
import { type MoveRecord, Moves } from "../dead-letters/change/moves.js";
import type { Controls } from "../dead-letters/dead-letters.js";
import {
  type ExporterControl,
  hasQueue,
  idleControl,
  type QueueControl,
  type RemainingOf,
} from "../dead-letters/exporter-control.js";
import { waitUntil } from "../dead-letters/replay.js";
import { MOVES_ID, type OperatorRecords } from "../records/operator-records.js";
import { isRecordsId, RecordLog } from "../store/record-log.js";
import { isEntryGone, isStoreError, type QueueStore, STORE_RETRY_MS, type StoredEntry } from "../store/store.js";
import { type AdoptedAsTheyAre, Adoption, type AdoptionServices, failureOf, type PlannedMove } from "./adoption.js";
import { type WorkerQueue, workerQueueId } from "./directory-name.js";
import { deleteEntries, type Orphans } from "./orphans.js";
import type { QueuePlace } from "./queue-place.js";

interface WorkerQueuesServices extends AdoptionServices {
  readonly place: QueuePlace;
  readonly controls: Controls;
  readonly orphans: Pick<Orphans, "lend">;
  readonly records: Pick<OperatorRecords, "adopt">;
  /** Opens the journal with this id if it is opened only when it is needed. */
  readonly openJournal: (id: string) => Promise<void>;
}

/** How long to wait before a queue is tried again that another process has open. */
const LOCK_WAIT_MS = 500;
/** The operator in the records of adoptions. */
const BY = "sluice";

/**
 * Adopts the queues of workers that are gone: worker 1 moves the entries of each into its own queue of the same
 * exporter or journal, as they are. Entries are moved as `Moves` describes, so that a crash loses and doubles nothing.
 * A queue that no exporter of the config has stays where it is, and counts as orphaned.
 */
export class WorkerQueues {
  private readonly services: WorkerQueuesServices;
  private readonly started = new Set<string>();
  /** Adoptions that run, by the id of the exporter or journal. Each has one at a time. */
  private readonly running = new Map<string, RunningAdoption>();
  private readonly settledMoves = new Map<number, Promise<void>>();
  private looking: Promise<void> = Promise.resolve();
  private isLookDue = false;
  /** Workers whose directories stay, because they have other files. */
  private readonly kept = new Set<number>();
  private cancelRetry: (() => void) | undefined;
  private isStopped = false;

  constructor(services: WorkerQueuesServices) {
    this.services = services;
  }

  /** To be called when an exporter's queue or a journal has been opened. The result ends what is done for it. */
  onStarted({ id }: ExporterControl): () => Promise<void> {
    if (this.services.place.workers === undefined) return async () => {};
    this.started.add(id);
    this.look();
    return () => {
      this.started.delete(id);
      return this.release(id);
    };
  }

  /**
   * Adopts the queues of workers above this number. Resolves when none of the others' queues is open here any more, and
   * what was being moved out of them has been moved or is still there.
   */
  async adoptAbove(count: number): Promise<void> {
    const { workers } = this.services.place;
    if (workers === undefined) return;
    workers.count = count;
    const back = [...this.running].filter(([, { worker }]) => worker <= count);
    await Promise.all(back.map(([id]) => this.release(id)));
    await this.look();
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    this.cancelRetry?.();
    await Promise.all([...this.running.keys()].map((id) => this.release(id)));
    await this.looking;
  }

  private async release(id: string): Promise<void> {
    const running = this.running.get(id);
    running?.abort.abort();
    await running?.ended;
  }

  /** Looks for queues of workers that are gone, one look at a time. Never rejects. */
  look(): Promise<void> {
    if (this.isLookDue) return this.looking;
    this.isLookDue = true;
    this.looking = this.looking
      .then(() => {
        this.isLookDue = false;
        return this.isStopped ? undefined : this.lookNow();
      })
      .catch((error: unknown) => {
        this.services.logger.warn({ err: error }, "the queues of removed workers cannot be adopted yet");
        this.retryLater();
      });
    return this.looking;
  }

  private retryLater(): void {
    if (this.isStopped) return;
    this.cancelRetry ??= this.services.clock.after(STORE_RETRY_MS, () => {
      this.cancelRetry = undefined;
      void this.look();
    });
  }

  private async lookNow(): Promise<void> {
    const { place, controls, openJournal } = this.services;
    const { workers } = place;
    if (workers === undefined) return;
    await this.settleReturned();
    const queues = await workers.list();
    for (const { id } of queues) if (!controls.has(id)) await openJournal(id);
    for (const queue of queues) if (this.started.has(queue.id) && !this.running.has(queue.id)) this.start(queue);
    const busy = new Set([...this.running.values()].map(({ worker }) => worker));
    for (const worker of await workers.gone()) if (!busy.has(worker)) await this.finish(worker, queues);
  }

  /** Settles moves that a crash interrupted, out of queues whose worker has been started again and waits for it. */
  private async settleReturned(): Promise<void> {
    const workers = this.services.place.workers!;
    const returned = ((await workers.marked?.()) ?? []).filter((worker) => worker <= workers.count);
    if (returned.length === 0) return;
    await this.services.moves.settleInterrupted();
    for (const worker of returned) await workers.unmark?.(worker);
  }

  private start(queue: WorkerQueue): void {
    const abort = new AbortController();
    const ended = this.adopt(queue, abort.signal)
      .catch((error: unknown) => {
        this.services.logger.warn({ err: error, queue: workerQueueId(queue) }, NOT_ADOPTED);
        return false;
      })
      .then((isDone) => {
        this.running.delete(queue.id);
        if (isDone) void this.look();
        else this.retryLater();
      });
    this.running.set(queue.id, { worker: queue.worker, abort, ended });
  }

  /** Returns true if the queue is empty now and has been removed. */
  private async adopt(queue: WorkerQueue, signal: AbortSignal): Promise<boolean> {
    const { place, controls, moves, orphans } = this.services;
    const id = workerQueueId(queue);
    await this.settleMovesOf(queue.worker, signal);
    await place.workers!.mark?.(queue.worker);
    const store = await this.open(id, signal);
    if (store === undefined) return false;
    const from = idleControl(id, store);
    const takeBack = orphans.lend(from);
    try {
      const to = () => targetOf(controls, queue.id);
      await moves.settleInterrupted();
      const asTheyAre = new WorkerEntries(from, await to().adoptNotes?.(store), this.services);
      const adoption = new Adoption(from, to, { to: queue.id, by: BY }, this.services, asTheyAre);
      signal.addEventListener("abort", () => adoption.cancel());
      if (!signal.aborted) await adoption.run();
    } finally {
      takeBack();
      await store.close();
    }
    if (!isEmpty(store)) return false;
    await place.removeFiles?.(id);
    return true;
  }

  /** Waits while another process has the store open: a worker whose parent was killed may still be stopping. */
  private async open(id: string, signal: AbortSignal): Promise<QueueStore | undefined> {
    const { place, clock, logger } = this.services;
    for (let isLogged = false; !signal.aborted; isLogged = true) {
      const store = place.createOrphanStore(id);
      try {
        await store.open();
        return store;
      } catch (error) {
        if (!isStoreError(error) || error.code !== "locked") throw error;
        if (!isLogged) logger.info({ queue: id }, "waiting for a stopping worker to close its queue");
        await waitUntil(clock.monotonic() + LOCK_WAIT_MS, signal, clock);
      }
    }
    return undefined;
  }

  /** Settles moves between queues of a worker that is gone, which it left interrupted. */
  private settleMovesOf(worker: number, signal: AbortSignal): Promise<void> {
    const settled = this.settledMoves.get(worker) ?? this.settleInterrupted(worker, signal);
    this.settledMoves.set(worker, settled);
    settled.catch(() => this.settledMoves.delete(worker));
    return settled;
  }

  private async settleInterrupted(worker: number, signal: AbortSignal): Promise<void> {
    const { place, clock, logger } = this.services;
    const log = workerQueueId({ worker, id: MOVES_ID });
    if (!(await place.exists(log))) return;
    const store = await this.open(log, signal);
    await store?.close();
    const records = new RecordLog<MoveRecord>({
      clock,
      retentionMs: 0,
      maxRecords: Number.POSITIVE_INFINITY,
      exists: async () => true,
      createStore: () => place.createOrphanStore(log),
    });
    const moves = new Moves(records, { clock, logger });
    moves.setOrphans(async (id) => {
      const queue = workerQueueId({ worker, id });
      const store = (await place.exists(queue)) ? await this.open(queue, signal) : undefined;
      return store && { control: idleControl(id, store), close: () => store.close() };
    });
    try {
      await moves.settleInterrupted();
    } finally {
      await records.close();
    }
  }

  /** Removes the place of a worker whose queues are all empty, and keeps the records of operators. */
  private async finish(worker: number, queues: readonly WorkerQueue[]): Promise<void> {
    const { place, records, logger } = this.services;
    const own = queues.filter((queue) => queue.worker === worker);
    for (const queue of own.filter(({ id }) => !isRecordsId(id)))
      if (
        queue.isFilled ||
        this.started.has(queue.id) ||
        !(await this.removeIf(queue, async (store) => isEmpty(store)))
      )
        return;
    for (const queue of own.filter(({ id }) => isRecordsId(id))) {
      const adopt = (store: QueueStore) => records.adopt(queue.id, store).then(() => true);
      if (!(await this.removeIf(queue, adopt))) return;
    }
    const isRemoved = (await place.workers!.remove?.(worker)) ?? own.length > 0;
    this.settledMoves.delete(worker);
    if (isRemoved) logger.info({ formerWorker: worker }, "all queues of a removed worker have been adopted");
    else if (!this.kept.has(worker)) logger.warn({ formerWorker: worker }, FILES_LEFT);
    if (!isRemoved) this.kept.add(worker);
  }

  /** Opens a store, and removes it if `check` resolves to true. A summary may be outdated, so it does not decide. */
  private async removeIf(queue: WorkerQueue, check: (store: QueueStore) => Promise<boolean>): Promise<boolean> {
    const { place } = this.services;
    const id = workerQueueId(queue);
    const store = place.createOrphanStore(id);
    try {
      await store.open();
    } catch (error) {
      if (isStoreError(error) && error.code === "locked") this.retryLater();
      return false;
    }
    let isDone = false;
    try {
      isDone = await check(store);
      if (isDone && place.removeFiles === undefined) await deleteEntries(store);
    } finally {
      await store.close();
    }
    if (isDone) await place.removeFiles?.(id);
    return isDone;
  }
}

interface RunningAdoption {
  readonly worker: number;
  readonly abort: AbortController;
  readonly ended: Promise<void>;
}

const NOT_ADOPTED = "the queue of a removed worker cannot be adopted yet";

const FILES_LEFT = "the directory of a removed worker stays, because it contains unknown files";

function isEmpty({ stats: { pending, failed } }: QueueStore): boolean {
  return pending.entries + failed.entries === 0;
}

/** Entries of a worker that is gone. Another worker's queue of the same exporter gets them as they are. */
class WorkerEntries implements AdoptedAsTheyAre {
  readonly what = "the queue of a removed worker";
  private readonly from: QueueControl;
  private readonly remaining: RemainingOf;
  private readonly services: AdoptionServices;

  constructor(from: QueueControl, remaining: RemainingOf | undefined, services: AdoptionServices) {
    this.from = from;
    this.remaining = remaining ?? ((_, batch) => batch);
    this.services = services;
  }

  /** If the other queue already has an entry of the same message, the message was delivered to both workers. */
  async plan(stored: StoredEntry, to: QueueControl): Promise<PlannedMove> {
    const { entry, ref } = stored;
    if ((await to.store.find(entry.id)) !== undefined) return isKeyedEntryId(entry.id) ? "settled" : "skip_destination";
    const whole = await this.from.store.payload(ref).catch((error: unknown) => {
      if (isEntryGone(error)) return undefined;
      throw error;
    });
    if (whole === undefined) return "skip_schema";
    if (entry.state === "failed") return { stored, replayed: entry, batch: whole };
    const batch = this.remaining(ref, whole);
    if (batch.count === 0 && whole.count > 0) return "settled";
    const failure = failureOf(entry, batch, this.services.clock.now());
    return { stored, replayed: { ...entry, state: "pending" }, batch, failure };
  }
}

function targetOf(controls: Controls, id: string): QueueControl {
  const control = controls.get(id);
  if (control !== undefined && hasQueue(control) && control.status().removed !== true) return control;
  throw new Error(`the queue of ${id} is closed`);
}
