import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { access, readdir, rename, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Logger } from "#contract";
import { StartError } from "#contract/errors";
import type { OrphanedQueue } from "#contract/operations";
import type { OutletSettings } from "#contract/operators";
import { type CompleteSettings, completeSettings } from "#contract/schema";
import { makePrivate, makePrivateDirectory } from "#system";
import { Keyring } from "../store/encryption/keyring.js";
import { adoptOldBallasts } from "../store/level/disk/ballast.js";
import { SharedDisk } from "../store/level/disk/shared-disk.js";
import { isStoreDirectory, storeExists, storesUnder, summaryPath } from "../store/level/open/summary-file.js";
import { LevelStore } from "../store/level-store.js";
import { MemoryStore } from "../store/memory-store.js";
import type { LevelStoreSettings, QueueStore } from "../store/store.js";
import {
  directoryNameOf,
  exporterOfDirectory,
  JOURNAL_PREFIX,
  parseWorkerQueueId,
  workerDirectoryName,
  workerQueueId,
} from "./directory-name.js";
import { DiskWorkers, SUSPECT_FILE, waitUntilUnmarked } from "./disk-workers.js";
import { kindOfQueue, orphanAdvice, orphanedQueuesUnder, warnOfOrphanedQueues } from "./orphaned-queues.js";
import type { PlacedStoreOptions, QueuePlace, QueuePlaceServices } from "./queue-place.js";

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

  readonly workers: DiskWorkers | undefined;

  /** `isNeeded`: the directory is created and must be usable. */
  constructor(directory: string, isNeeded: boolean, services: QueuePlaceServices) {
    const { number = 1, count = 1 } = services.worker ?? {};
    this.root = number === 1 ? directory : join(directory, workerDirectoryName(number));
    this.workers = number === 1 ? new DiskWorkers(this.root, count) : undefined;
    this.disk = new SharedDisk(this.root);
    this.isNeeded = isNeeded;
    this.services = services;
  }

  get suspectPath(): string {
    return join(this.root, SUSPECT_FILE);
  }

  async start(keyring: Keyring): Promise<void> {
    this.keyring = keyring;
    if (this.isNeeded) await prepareDirectory(this.root);
    if (this.workers === undefined) await waitUntilUnmarked(this.root, this.services);
    await tightenPermissions(this.root, this.services.logger);
    await adoptOldBallasts(this.root);
    await finishRemovals(this.root);
    const ofGoneWorkers = (await this.workers?.list()) ?? [];
    const leftByWorkers = ofGoneWorkers.map(({ id }) => id).filter((id) => kindOfQueue(id) === "journal");
    this.leftJournals = new Set([...(await journalsUnder(this.root)), ...leftByWorkers]);
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
    const exporter = parseWorkerQueueId(id)?.id ?? id;
    return this.makeStore({ exporter, directory: this.pathOf(id), durability: "fsync", intervalMs: 0 }, {});
  }

  /** The directory is renamed first, so that a crash leaves no damaged queue. The next start removes what is left. */
  async removeFiles(id: string): Promise<void> {
    const directory = this.pathOf(id);
    const removed = join(this.root, `${REMOVED_PREFIX}${directoryNameOf(id)}-${randomUUID()}`);
    await rename(directory, removed).catch(ignoreMissing);
    await rm(summaryPath(directory), { force: true });
    await rm(removed, { recursive: true, force: true });
  }

  /** A queue of a worker that is gone is orphaned only if no exporter or pipeline of the config will adopt it. */
  async orphans(): Promise<readonly OrphanedQueue[]> {
    const own = await orphanedQueuesUnder(this.root, this.used);
    const ofWorkers: OrphanedQueue[] = [];
    for (const worker of (await this.workers?.gone()) ?? []) {
      const directory = join(this.root, workerDirectoryName(worker));
      const adopted = new Set([...this.used].map((path) => join(directory, basename(path))));
      for (const { id, ...queue } of await orphanedQueuesUnder(directory, adopted))
        ofWorkers.push({ ...queue, id: workerQueueId({ worker, id }) });
    }
    return [...own, ...ofWorkers];
  }

  private pathOf(id: string): string {
    const other = this.workers && parseWorkerQueueId(id);
    if (other === undefined) return join(this.root, directoryNameOf(id));
    return join(this.root, workerDirectoryName(other.worker), directoryNameOf(other.id));
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
    return storeExists(this.pathOf(id));
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

  async warnOfOrphans(): Promise<void> {
    await warnOfOrphanedQueues(this.root, this.used, this.services.logger);
    for (const { id, place, pending, deadLetters } of await this.orphans())
      if (parseWorkerQueueId(id) !== undefined)
        this.services.logger.warn(
          { exporter: id, directory: place, pending, deadLetters },
          `no exporter sends the entries in the queue of ${id}: ${orphanAdvice(id)}`,
        );
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

/**
 * Makes the queues in a directory accessible only to their owner, because earlier versions let others read them. The
 * directory itself is changed only if it contains nothing else, since others may need it. Never rejects.
 */
async function tightenPermissions(root: string, logger: Logger): Promise<void> {
  const names = await readdir(root).catch(() => []);
  const own: string[] = [];
  for (const name of names) if (await isOwn(root, name)) own.push(name);
  const paths = own.length === names.length ? [root] : own.map((name) => join(root, name));
  let changed = 0;
  for (const path of paths) changed += await makePrivate(path);
  if (changed === 0) return;
  logger.warn({ directory: root, changed }, "other users could read files of the queues; now only the owner can");
}

async function isOwn(root: string, name: string): Promise<boolean> {
  if (name === ".set-aside") return true;
  const [, summaryOf] = SUMMARY_FILE.exec(name) ?? [];
  if (summaryOf !== undefined) return exporterOfDirectory(summaryOf) !== undefined;
  return exporterOfDirectory(name) !== undefined && (await isStoreDirectory(join(root, name)).catch(() => false));
}

const SUMMARY_FILE = /^(.*)\.witness$/;
