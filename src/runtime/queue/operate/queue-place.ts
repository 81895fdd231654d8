import type { Clock, Logger } from "#contract";
import type { OutletSettings } from "#contract/operators";
import type { CompleteSettings } from "#contract/schema";
import type { Keyring } from "../store/encryption/keyring.js";
import { MemoryStore } from "../store/memory-store.js";
import type { OpenReport, QueueStore } from "../store/store.js";

/** Where the stores of an agent are: its queues, its journals, and what operators did. */
export interface QueuePlace {
  /** Looks for what earlier runs have left. `keyring` is what is read and written with from now on. */
  start(keyring: Keyring): Promise<void>;
  createStore(
    names: Pick<OutletSettings, "id" | "otherIds">,
    settings: CompleteSettings,
    options: PlacedStoreOptions,
  ): QueueStore;
  /** A store for what operators did: it is as safe as the queues, and lasts as long as the agent when none of them is kept. */
  createRecordStore(id: string): QueueStore;
  /** Whether there is a store of this id that was made before. */
  exists(id: string): Promise<boolean>;
  /** Whether an earlier run has left a journal of this id: true as well when that is not known. */
  isJournalLeft(id: string): boolean;
  /** A store that is not made yet is not left behind. */
  reserve(id: string): void;
  /** Warns of queues that are not empty and that nothing of this config uses. Never rejects. */
  warnOfOrphans(): Promise<void>;
}

export interface PlacedStoreOptions {
  /** A queue that cannot be opened yet refuses what comes until it can. */
  readonly mayOpenLater?: boolean;
  readonly onDamage?: (report: OpenReport) => void;
  /** There is room again on a disk that had none for what moves from one store to another. */
  readonly onRoom?: () => void;
}

export interface QueuePlaceServices {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Stores that somebody else makes, such as those of tests: nothing is on disk. */
export function givenStores(createStore: (id: string) => QueueStore): QueuePlace {
  return {
    start: async () => {},
    createStore: ({ id }) => createStore(id),
    createRecordStore: (id) => new MemoryStore({ exporter: id }),
    exists: async () => false,
    isJournalLeft: () => false,
    reserve() {},
    warnOfOrphans: async () => {},
  };
}
