import { postgresErrorMessage } from "#brokers/postgres";
import type { OrphanedQueue } from "#contract/operations";
import type { OutletSettings } from "#contract/operators";
import { Keyring } from "../store/encryption/keyring.js";
import { MemoryStore } from "../store/memory-store.js";
import { isRecordsId } from "../store/record-log.js";
import { agentName, type PostgresStoreConfig, queueName } from "../store/remote/postgres-config.js";
import { listPostgresQueues, type PostgresQueue } from "../store/remote/postgres-queues.js";
import { PostgresTable } from "../store/remote/postgres-table.js";
import { RemoteStore } from "../store/remote/remote-store.js";
import type { QueueStore } from "../store/store.js";
import { parseWorkerQueueId, workerQueueId } from "./directory-name.js";
import { kindOfQueue, orphanAdvice } from "./orphaned-queues.js";
import type { PlacedStoreOptions, QueuePlace, QueuePlaceServices, WorkerPlaces } from "./queue-place.js";

/** Stores in PostgreSQL tables, for agents without a disk. */
export class PostgresPlace implements QueuePlace {
  private readonly config: PostgresStoreConfig;
  private readonly services: QueuePlaceServices;
  private keyring = new Keyring();
  private readonly used = new Set<string>();
  /** Queues of all agents that existed at the start; undefined if the server was unreachable. */
  private left: readonly PostgresQueue[] | undefined;

  /** The worker whose queues are here, if it is not the first. Their names in the table say so. */
  private readonly worker: number | undefined;
  readonly workers: WorkerPlaces | undefined;

  constructor(config: PostgresStoreConfig, services: QueuePlaceServices) {
    const { number = 1, count = 1 } = services.worker ?? {};
    this.config = config;
    this.services = services;
    this.worker = number === 1 ? undefined : number;
    this.workers = number === 1 ? this.otherWorkers(count) : undefined;
  }

  /** The agent starts even if the server is unreachable. */
  async start(keyring: Keyring): Promise<void> {
    this.keyring = keyring;
    this.left = await this.list();
  }

  createOrphanStore(id: string): QueueStore {
    return this.makeStore(parseWorkerQueueId(id)?.id ?? id, [this.nameOf(id)], {});
  }

  async orphans(): Promise<readonly OrphanedQueue[]> {
    return this.ownOf((await this.list()) ?? [])
      .filter((queue) => this.isOrphaned(queue))
      .map(({ id, pending, failed: deadLetters }) => {
        const place = this.nameOf(id);
        return { id, kind: kindOfQueue(id), place, pending, deadLetters };
      });
  }

  createStore(
    { id, otherIds = [] }: Pick<OutletSettings, "id" | "otherIds">,
    _settings: unknown,
    options: PlacedStoreOptions,
  ): QueueStore {
    const names = [id, ...otherIds].map((each) => this.nameOf(each)) as [string, ...string[]];
    for (const each of [id, ...otherIds]) this.reserve(each);
    return this.makeStore(id, names, options);
  }

  private makeStore(id: string, names: [string, ...string[]], options: PlacedStoreOptions): QueueStore {
    const { logger } = this.services;
    const facts = { queue: names[0], endpoint: this.config.endpoint };
    return new RemoteStore({ exporter: id }, new PostgresTable(this.config, names), {
      ...options,
      waitMs: WAIT_MS,
      keyring: this.keyring,
      onLost: (error) =>
        logger.error(
          { ...facts, reason: postgresErrorMessage(error) },
          "the queue on the server cannot be used; refusing new data",
        ),
      onFound: () => logger.info(facts, "the queue on the server can be used again"),
    });
  }

  createRecordStore(id: string): QueueStore {
    return this.used.size === 0 ? new MemoryStore({ exporter: id }) : this.createStore({ id }, undefined, {});
  }

  async exists(id: string): Promise<boolean> {
    if (parseWorkerQueueId(id) !== undefined)
      return this.ownOf(await listPostgresQueues(this.config)).some((queue) => queue.id === id);
    return this.used.size > 0 && this.isLeft(id);
  }

  hasOldJournal(id: string): boolean {
    return this.isLeft(id);
  }

  reserve(id: string): void {
    this.used.add(id);
  }

  release(id: string): void {
    this.used.delete(id);
  }

  /**
   * Includes queues of other agents that no agent has open. An agent restarted under another name does not find its own
   * queues.
   */
  async warnOfOrphans(): Promise<void> {
    const { logger } = this.services;
    const agent = agentName(this.config);
    const all = (await this.list()) ?? [];
    for (const { id, pending, failed: deadLetters } of this.ownOf(all).filter((queue) => this.isOrphaned(queue)))
      logger.warn(
        { exporter: id, pending, deadLetters },
        `no exporter sends the entries in the queue of ${id}: ${orphanAdvice(id)}`,
      );
    const others = all.filter((queue) => queue.agent !== agent && !queue.isOpen && isFilled(queue));
    if (others.length === 0 || this.worker !== undefined) return;
    const agents = [...new Set(others.map((queue) => queue.agent))];
    logger.warn(
      { agents: agents.slice(0, MAX_NAMES), pending: sum(others, "pending"), deadLetters: sum(others, "failed") },
      "no running agent uses the queues of these agents. If an agent does not come back, start one with store: postgres: agent: set to its name",
    );
  }

  /** A queue of a worker that is gone is orphaned only if no exporter or pipeline of the config will adopt it. */
  private isOrphaned(queue: PostgresQueue): boolean {
    const { worker, id } = parseWorkerQueueId(queue.id) ?? { worker: undefined, id: queue.id };
    if (worker !== undefined && (this.workers === undefined || worker <= this.workers.count)) return false;
    return isFilled(queue) && !this.used.has(id);
  }

  private isLeft(id: string): boolean {
    if (this.left === undefined) return true;
    return this.ownOf(this.left).some((queue) => {
      const other = parseWorkerQueueId(queue.id);
      return queue.id === id || (other?.id === id && other.worker > this.workers!.count);
    });
  }

  private nameOf(id: string): string {
    return queueName(this.config, this.worker === undefined ? id : workerQueueId({ worker: this.worker, id }));
  }

  /** Returns the queues of this worker, with their ids. Worker 1 also has those of the others. */
  private ownOf(queues: readonly PostgresQueue[]): PostgresQueue[] {
    const ofAgent = queues.filter(({ agent }) => agent === agentName(this.config));
    if (this.worker === undefined) return ofAgent;
    return ofAgent.flatMap((queue) => {
      const { worker, id } = parseWorkerQueueId(queue.id) ?? {};
      return worker === this.worker ? [{ ...queue, id: id! }] : [];
    });
  }

  private otherWorkers(count: number): WorkerPlaces {
    const places: WorkerPlaces = {
      count,
      list: async () => {
        const own = this.ownOf(await listPostgresQueues(this.config));
        const filled = own.filter(({ pending, failed }) => pending + failed > 0);
        const queues = filled.flatMap(({ id }) => parseWorkerQueueId(id) ?? []);
        return queues.filter(({ worker }) => worker > places.count).sort((one, other) => one.worker - other.worker);
      },
      gone: async () => [...new Set((await places.list()).map(({ worker }) => worker))],
    };
    return places;
  }

  private async list(): Promise<PostgresQueue[] | undefined> {
    try {
      return await listPostgresQueues(this.config);
    } catch (error) {
      this.services.logger.warn({ reason: postgresErrorMessage(error) }, "cannot look for queues on the server");
      return undefined;
    }
  }
}

/** Whether a queue has entries. The records of operators are not counted. */
function isFilled({ id, pending, failed }: PostgresQueue): boolean {
  return !isRecordsId(parseWorkerQueueId(id)?.id ?? id) && pending + failed > 0;
}

const MAX_NAMES = 10;
/** How long the agent's start waits for data that must be known first, such as the notes of a journal. */
const WAIT_MS = 30_000;

function sum(queues: readonly PostgresQueue[], of: "pending" | "failed"): number {
  return queues.reduce((total, queue) => total + queue[of], 0);
}
