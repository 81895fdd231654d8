import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { access, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { StartError } from "#contract/errors";
import type { OrphanedQueue } from "#contract/operations";
import type { OutletSettings } from "#contract/operators";
import { type CompleteSettings, completeSettings } from "#contract/schema";
import { makePrivateDirectory } from "#system";
import { Keyring } from "../store/encryption/keyring.js";
import { adoptOldBallasts } from "../store/level/disk/ballast.js";
import { SharedDisk } from "../store/level/disk/shared-disk.js";
import { storeExists, storesUnder, summaryPath } from "../store/level/open/summary-file.js";
import { LevelStore } from "../store/level-store.js";
import { MemoryStore } from "../store/memory-store.js";
import type { LevelStoreSettings, QueueStore } from "../store/store.js";
import { directoryNameOf, JOURNAL_PREFIX } from "./directory-name.js";
import { orphanedQueuesUnder, warnOfOrphanedQueues } from "./orphaned-queues.js";
import type { PlacedStoreOptions, QueuePlace, QueuePlaceServices } from "./queue-place.js";
import { tightenPermissions } from "./tighten-permissions.js";

/** A directory with one store in each subdirectory. */
export class DiskPlace implements QueuePlace {
  private readonly root: string;
  private readonly isNeeded: boolean;
  private readonly disk: SharedDisk;
  private readonly services: QueuePlaceServices;
  private keyring = new Keyring();
  /** Directories of the queues and journals of this config. */
  private readonly used = new Set<string>();
  /** Ids of the journals (`leftJournals`) and directory names (`leftNames`) left by earlier runs. */
  private leftJournals: ReadonlySet<string> = new Set();
  private leftNames: ReadonlySet<string> = new Set();

  /** `isNeeded`: the directory is created and must be usable. */
  constructor(root: string, isNeeded: boolean, services: QueuePlaceServices) {
    this.root = root;
    this.disk = new SharedDisk(root);
    this.isNeeded = isNeeded;
    this.services = services;
  }

  async start(keyring: Keyring): Promise<void> {
    this.keyring = keyring;
    if (this.isNeeded) await prepareDirectory(this.root);
    await tightenPermissions(this.root, this.services.logger);
    await adoptOldBallasts(this.root);
    await finishRemovals(this.root);
    this.leftJournals = await journalsUnder(this.root);
    this.leftNames = await queueNamesUnder(this.root);
  }

  createStore(
    { id, otherIds = [] }: Pick<OutletSettings, "id" | "otherIds">,
    { durability, durability_interval: intervalMs }: CompleteSettings,
    options: PlacedStoreOptions,
  ): QueueStore {
    const directory = join(this.root, this.directoryName(id, otherIds));
    this.used.add(directory);
    return this.makeStore({ exporter: id, directory, durability, intervalMs }, options);
  }

  createOrphanStore(id: string): QueueStore {
    const directory = join(this.root, directoryNameOf(id));
    return this.makeStore({ exporter: id, directory, durability: "fsync", intervalMs: 0 }, {});
  }

  /** The directory is renamed first, so that a crash leaves no damaged queue. The next start removes what is left. */
  async removeFiles(id: string): Promise<void> {
    const directory = join(this.root, directoryNameOf(id));
    const removed = join(this.root, `${REMOVED_PREFIX}${directoryNameOf(id)}-${randomUUID()}`);
    await rename(directory, removed).catch(ignoreMissing);
    await rm(summaryPath(directory), { force: true });
    await rm(removed, { recursive: true, force: true });
  }

  orphans(): Promise<readonly OrphanedQueue[]> {
    return orphanedQueuesUnder(this.root, this.used);
  }

  private makeStore(settings: LevelStoreSettings, options: PlacedStoreOptions): QueueStore {
    const now = () => this.services.clock.now();
    const { keyring, disk } = this;
    const shared = { disk, isJournal: settings.exporter.startsWith(JOURNAL_PREFIX) };
    return new LevelStore(settings, { now, keyring, ...shared, ...options });
  }

  createRecordStore(id: string): QueueStore {
    if (this.used.size === 0) return new MemoryStore({ exporter: id });
    return this.createStore({ id }, completeSettings({ durability: "fsync" }), {});
  }

  exists(id: string): Promise<boolean> {
    return storeExists(join(this.root, directoryNameOf(id)));
  }

  hasOldJournal(id: string): boolean {
    return this.leftJournals.has(id) || this.used.has(join(this.root, directoryNameOf(id)));
  }

  reserve(id: string): void {
    this.used.add(join(this.root, directoryNameOf(id)));
  }

  release(id: string): void {
    this.used.delete(join(this.root, directoryNameOf(id)));
  }

  warnOfOrphans(): Promise<void> {
    return warnOfOrphanedQueues(this.root, this.used, this.services.logger);
  }

  /**
   * Returns the directory of another spelling of the id if only that one exists, because the exporter was renamed from
   * an alias of its type.
   */
  private directoryName(id: string, otherIds: readonly string[]): string {
    const names = [id, ...otherIds].map(directoryNameOf);
    return names.find((name) => this.leftNames.has(name)) ?? directoryNameOf(id);
  }
}

/** No queue has a directory with such a name. */
const REMOVED_PREFIX = ".removed-";

async function finishRemovals(root: string): Promise<void> {
  const names = await readdir(root).catch(() => []);
  for (const name of names.filter((each) => each.startsWith(REMOVED_PREFIX)))
    await rm(join(root, name), { recursive: true, force: true });
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOENT") throw error;
}

/**
 * Creates the directory if necessary. Throws a `StartError` that names the config key if the directory cannot be used.
 */
async function prepareDirectory(path: string): Promise<void> {
  try {
    await makePrivateDirectory(path);
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const hint = "choose another with extensions: reliability: directory:, or turn queues off with sending_queue";
    throw new StartError(`the directory ${path} cannot be used (${code ?? message}); ${hint}`, ["directory"], {
      cause: error,
    });
  }
}

/**
 * Returns the journals in the directory. Some may be empty, because a summary can be slightly outdated; this is known
 * only after opening.
 */
async function journalsUnder(root: string): Promise<ReadonlySet<string>> {
  const stores = await storesUnder(root).catch(() => []);
  return new Set(stores.map(({ summary }) => summary.exporter).filter((id) => id.startsWith(JOURNAL_PREFIX)));
}

/** Returns the names of directories with queues, including lost ones whose summary file is still there. */
async function queueNamesUnder(root: string): Promise<ReadonlySet<string>> {
  const entries = await readdir(root, { withFileTypes: true }).catch(() => []);
  return new Set(entries.map((entry) => (entry.isDirectory() ? entry.name : entry.name.replace(/\.witness$/, ""))));
}
