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
import { kindOfQueue, orphanAdvice } from "./orphaned-queues.js";
import type { PlacedStoreOptions, QueuePlace, QueuePlaceServices } from "./queue-place.js";

/** Stores in PostgreSQL tables, for agents without a disk. */
export class PostgresPlace implements QueuePlace {
  private readonly config: PostgresStoreConfig;
  private readonly services: QueuePlaceServices;
  private keyring = new Keyring();
  private readonly used = new Set<string>();
  /** Queues of all agents that existed at the start; undefined if the server was unreachable. */
  private left: readonly PostgresQueue[] | undefined;

  constructor(config: PostgresStoreConfig, services: QueuePlaceServices) {
    this.config = config;
    this.services = services;
  }

  /** The agent starts even if the server is unreachable. */
  async start(keyring: Keyring): Promise<void> {
    this.keyring = keyring;
    this.left = await this.list();
  }

  createOrphanStore(id: string): QueueStore {
    return this.makeStore(id, [queueName(this.config, id)], {});
  }

  async orphans(): Promise<readonly OrphanedQueue[]> {
    const orphaned = ((await this.list()) ?? []).filter((queue) => this.isOrphaned(queue, agentName(this.config)));
    return orphaned
      .filter(({ id, pending, failed }) => !isRecordsId(id) && pending + failed > 0)
      .map(({ id, pending, failed: deadLetters }) => {
        const place = queueName(this.config, id);
        return { id, kind: kindOfQueue(id), place, pending, deadLetters };
      });
  }

  createStore(
    { id, otherIds = [] }: Pick<OutletSettings, "id" | "otherIds">,
    _settings: unknown,
    options: PlacedStoreOptions,
  ): QueueStore {
    const names = [id, ...otherIds].map((each) => queueName(this.config, each)) as [string, ...string[]];
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
    const filled = ((await this.list()) ?? []).filter(
      ({ id, pending, failed }) => !isRecordsId(id) && pending + failed > 0,
    );
    for (const { id, pending, failed: deadLetters } of filled.filter((queue) => this.isOrphaned(queue, agent)))
      logger.warn(
        { exporter: id, pending, deadLetters },
        `no exporter sends the entries in the queue of ${id}: ${orphanAdvice(id)}`,
      );
    const others = filled.filter((queue) => queue.agent !== agent && !queue.isOpen);
    if (others.length === 0) return;
    const agents = [...new Set(others.map((queue) => queue.agent))];
    logger.warn(
      { agents: agents.slice(0, MAX_NAMES), pending: sum(others, "pending"), deadLetters: sum(others, "failed") },
      "no agent runs that has the queues of these agents open: start one with store: postgres: agent: set to its name, if it does not come back by itself",
    );
  }

  private isOrphaned(queue: PostgresQueue, agent: string): boolean {
    return queue.agent === agent && !this.used.has(queue.id);
  }

  private isLeft(id: string): boolean {
    const agent = agentName(this.config);
    return this.left?.some((queue) => queue.agent === agent && queue.id === id) ?? true;
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

const MAX_NAMES = 10;
/** How long the agent's start waits for data that must be known first, such as the notes of a journal. */
const WAIT_MS = 30_000;

function sum(queues: readonly PostgresQueue[], of: "pending" | "failed"): number {
  return queues.reduce((total, queue) => total + queue[of], 0);
}
