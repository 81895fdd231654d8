import {
  AdminError,
  type AdoptOptions,
  type OrphanedQueue,
  type OrphanedQueues,
  type QueueAdoption,
} from "#contract/operations";
import { type Controls, controlOf } from "../dead-letters/dead-letters.js";
import { hasQueue, idleControl, type QueueControl } from "../dead-letters/exporter-control.js";
import { DELETE_CHUNK_SIZE } from "../store/dead-letter-access.js";
import { isStoreError, type QueueStore } from "../store/store.js";
import { asAdminError } from "./admin.js";
import { Adoption, type AdoptionServices } from "./adoption.js";
import { kindOfQueue } from "./orphaned-queues.js";
import type { QueuePlace } from "./queue-place.js";

interface OrphansServices extends AdoptionServices {
  readonly place: QueuePlace;
  readonly controls: Controls;
  /** Called when an orphaned queue has been removed. */
  readonly onRemoved?: () => void;
}

/** The queues in an agent's place that no exporter or pipeline of its config uses. Only one thing is done to each at a time. */
export class Orphans implements OrphanedQueues {
  private readonly services: OrphansServices;
  private readonly adoptions = new Map<string, Adoption>();
  /** Queues that are open here, with the end of what is done to them. */
  private readonly busy = new Map<string, Promise<unknown>>();
  private readonly opened = new Map<string, QueueControl>();

  constructor(services: OrphansServices) {
    this.services = services;
    services.moves.setOrphans((id) => this.useForMove(id));
  }

  async list(): Promise<readonly OrphanedQueue[]> {
    const orphans = await this.services.place.orphans();
    return orphans.map((orphan) => ({ ...orphan, adoption: this.adoption(orphan.id) }));
  }

  adoption(id: string): QueueAdoption | undefined {
    return this.adoptions.get(id)?.status;
  }

  async adopt(id: string, options: AdoptOptions): Promise<QueueAdoption> {
    const { controls, moves, place } = this.services;
    const to = () => targetOf(controls, options.to);
    checkPipeline(to(), options);
    await this.find(id);
    if (kindOfQueue(id) === "journal")
      throw new AdminError(
        "bad_request",
        `${id} is the journal of a pipeline: its entries have not passed their processors, so no exporter can send them`,
      );
    await moves.settleInterrupted();
    const started = deferred<Adoption>();
    const working = this.exclusively(id, async () => {
      const from = await this.open(id);
      try {
        const adoption = new Adoption(from, to, options, this.services);
        this.adoptions.set(id, adoption);
        started.resolve(adoption);
        await adoption.run();
        options.onEnd?.(adoption.status);
      } finally {
        await this.close(id, from.store);
      }
      if (isEmpty(from.store)) await place.removeFiles?.(id);
      this.services.onRemoved?.();
    });
    working.catch(started.reject);
    return (await started.promise).status;
  }

  async delete(id: string): Promise<number | undefined> {
    const { place, moves } = this.services;
    await this.find(id);
    await moves.settleInterrupted();
    return this.exclusively(id, async () => {
      const opened = await this.open(id).catch((error: unknown) => {
        if (isStoreError(error) && isDeletable(error.code)) return undefined;
        throw asAdminError(error);
      });
      const { pending, failed } = opened?.store.stats ?? {};
      if (opened !== undefined) {
        if (place.removeFiles === undefined) await deleteEntries(opened.store);
        await this.close(id, opened.store);
      }
      await place.removeFiles?.(id);
      this.services.onRemoved?.();
      this.services.logger.warn({ queue: id, pending: pending?.entries, deadLetters: failed?.entries }, DELETED);
      return pending && failed && pending.entries + failed.entries;
    });
  }

  /** To be called before an exporter opens this queue. Resolves when the queue is closed here. */
  async release(id: string): Promise<void> {
    this.adoptions.get(id)?.cancel();
    await this.busy.get(id)?.catch(() => {});
  }

  async stop(): Promise<void> {
    await Promise.all([...this.busy.keys()].map((id) => this.release(id)));
  }

  /** Lets moves be settled with a queue that is open elsewhere, until the result is called. */
  lend(control: QueueControl): () => void {
    this.opened.set(control.id, control);
    return () => void this.opened.delete(control.id);
  }

  private async find(id: string): Promise<void> {
    if (this.busy.has(id)) throw new AdminError("conflict", `the queue ${id} is being adopted or deleted`);
    if ((await this.services.place.orphans()).some((orphan) => orphan.id === id)) return;
    const isUsed = this.services.controls.has(id);
    const why = isUsed ? `the queue ${id} is in use` : `there is no orphaned queue ${JSON.stringify(id)}`;
    throw new AdminError(isUsed ? "conflict" : "not_found", `${why}: sluice queue list shows those that are orphaned`);
  }

  private exclusively<T>(id: string, work: () => Promise<T>): Promise<T> {
    if (this.busy.has(id) || this.services.controls.has(id))
      return Promise.reject(new AdminError("conflict", `the queue ${id} is in use`));
    const working = work().finally(() => this.busy.delete(id));
    this.busy.set(id, working);
    return working;
  }

  private async open(id: string): Promise<QueueControl> {
    const store = this.services.place.createOrphanStore(id);
    await store.open();
    const control = idleControl(id, store);
    this.opened.set(id, control);
    return control;
  }

  private async close(id: string, store: QueueStore): Promise<void> {
    this.opened.delete(id);
    await store.close();
  }

  /** A queue that is being adopted is open already. */
  private async useForMove(id: string) {
    const opened = this.opened.get(id);
    if (opened !== undefined) return { control: opened, close: async () => {} };
    if (this.busy.has(id) || !(await this.services.place.exists(id))) return undefined;
    const control = await this.open(id);
    return { control, close: () => this.close(id, control.store) };
  }
}

function targetOf(controls: Controls, to: string): QueueControl {
  const control = controlOf(controls, to);
  if (hasQueue(control) && control.pipelines !== undefined && control.status().removed !== true) return control;
  throw new AdminError("bad_request", `${to} cannot adopt a queue: it is not an exporter of the config with a queue`);
}

function checkPipeline({ hasPipeline }: QueueControl, { pipeline }: AdoptOptions): void {
  if (typeof pipeline !== "string" || hasPipeline?.(pipeline) !== false) return;
  throw new AdminError("bad_request", `there is no pipeline ${JSON.stringify(pipeline)} in the config`);
}

function isEmpty({ stats: { pending, failed } }: QueueStore): boolean {
  return pending.entries + failed.entries === 0;
}

/** A queue that cannot be read may be deleted, but not one that another process or a newer version uses. */
function isDeletable(code: string): boolean {
  return code === "corrupt" || code === "wrong_key";
}

/** Removes all entries of a store that has no files of its own. */
export async function deleteEntries(store: QueueStore): Promise<void> {
  const pages = [
    () => store.pending(undefined, DELETE_CHUNK_SIZE),
    () => store.failed(undefined, DELETE_CHUNK_SIZE, "oldest"),
  ];
  for (const next of pages)
    for (let page = await next(); page.length > 0; page = await next()) {
      const refs = page.map(({ ref }) => ref);
      await (store.erase === undefined ? store.delete(refs) : store.erase(refs));
    }
}

const DELETED = "an orphaned queue was deleted with all its entries";

function deferred<T>() {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((settle, fail) => {
    resolve = settle;
    reject = fail;
  });
  return { promise, resolve, reject };
}
