import type { Clock, Logger } from "#contract";
import type { OrphanedQueue, WorkerPart } from "#contract/operations";
import type { OutletSettings } from "#contract/operators";
import type { CompleteSettings } from "#contract/schema";
import type { Keyring } from "../store/encryption/keyring.js";
import { MemoryStore } from "../store/memory-store.js";
import type { OpenReport, QueueStore } from "../store/store.js";
import type { WorkerQueue } from "./directory-name.js";

/** The location of an agent's stores: queues, journals and the records of operators. */
export interface QueuePlace {
  /** Finds stores left by earlier runs. `keyring` is used for all reads and writes from now on. */
  start(keyring: Keyring): Promise<void>;
  createStore(
    names: Pick<OutletSettings, "id" | "otherIds">,
    settings: CompleteSettings,
    options: PlacedStoreOptions,
  ): QueueStore;
  /**
   * Creates a store for records of operators. It is as durable as the queues. If no queue is stored, it lasts only as
   * long as the agent.
   */
  createRecordStore(id: string): QueueStore;
  /** Whether a store with this id was created before. */
  exists(id: string): Promise<boolean>;
  /** Whether an earlier run left a journal with this id. Also true if that is not known. */
  hasOldJournal(id: string): boolean;
  /** Marks a store that has not been created yet as used, so that it is not reported as orphaned. */
  reserve(id: string): void;
  /** The store with this id is not used any more, so that it may be reported as orphaned. */
  release(id: string): void;
  /** Warns of queues that are not empty and that this config does not use. Never rejects. */
  warnOfOrphans(): Promise<void>;
  /** Finds these queues. */
  orphans(): Promise<readonly OrphanedQueue[]>;
  /** Creates the store of an orphaned queue, which stays orphaned. */
  createOrphanStore(id: string): QueueStore;
  /** Removes the files of a store that is closed; absent if a store has none of its own. */
  removeFiles?(id: string): Promise<void>;
  /** A file for `Suspects`; absent if there is no place for one. */
  readonly suspectPath?: string;
  /** The queues of other workers; absent if there can be none. */
  readonly workers?: WorkerPlaces | undefined;
}

/** The places of an agent's other workers, as worker 1 sees them. Their queues have ids as `workerQueueId` makes them. */
export interface WorkerPlaces {
  /** Number of workers that the agent has. Those above it are gone. */
  count: number;
  /** Workers that are gone and have left something. */
  gone(): Promise<readonly number[]>;
  /** All stores of these workers, including those of the records of operators, in order of the workers. */
  list(): Promise<readonly WorkerQueue[]>;
  /**
   * Marks a worker's place while entries are moved out of it. If this process is killed meanwhile, and the worker is
   * started again, it waits until the mark has been removed.
   */
  mark?(worker: number): Promise<void>;
  unmark?(worker: number): Promise<void>;
  /** Workers whose places are marked. */
  marked?(): Promise<readonly number[]>;
  /** Removes what is left of a place without stores. Returns false if it has files that are not known, which stay. */
  remove?(worker: number): Promise<boolean>;
}

export interface PlacedStoreOptions {
  /** Whether a queue that cannot be opened yet may start anyway. It refuses data until it is open. */
  readonly mayOpenLater?: boolean;
  readonly onDamage?: (report: OpenReport) => void;
  /** Called when a full disk has space again for data that moves between stores. */
  readonly onRoom?: () => void;
}

export interface QueuePlaceServices {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly worker?: WorkerPart | undefined;
}

/** A place whose stores come from the caller, for example in tests. Nothing is on disk. */
export function givenStores(createStore: (id: string) => QueueStore): QueuePlace {
  return {
    start: async () => {},
    createStore: ({ id }) => createStore(id),
    createRecordStore: (id) => new MemoryStore({ exporter: id }),
    exists: async () => false,
    hasOldJournal: () => false,
    reserve() {},
    release() {},
    warnOfOrphans: async () => {},
    orphans: async () => [],
    createOrphanStore: createStore,
  };
}
