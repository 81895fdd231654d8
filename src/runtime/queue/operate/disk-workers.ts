import { readdir, rename, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makePrivateDirectory, PRIVATE_FILE_MODE } from "#system";
import { SET_ASIDE_FOLDER } from "../store/level/open/marks.js";
import { storeExists, storesUnder, summaryPath } from "../store/level/open/summary-file.js";
import { exporterOfDirectory, type WorkerQueue, workerDirectoryName, workerOfDirectory } from "./directory-name.js";
import type { QueuePlaceServices, WorkerPlaces } from "./queue-place.js";

/** The directories of an agent's workers from 2 on, which are in the one of worker 1. */
export class DiskWorkers implements WorkerPlaces {
  private readonly root: string;
  count: number;

  constructor(root: string, count: number) {
    this.root = root;
    this.count = count;
  }

  async gone(): Promise<readonly number[]> {
    const workers = await this.all();
    return workers.filter((worker) => worker > this.count);
  }

  async list(): Promise<readonly WorkerQueue[]> {
    const found: WorkerQueue[] = [];
    for (const worker of await this.gone())
      for (const store of await storesOf(this.pathOf(worker))) found.push({ worker, ...store });
    return found;
  }

  async mark(worker: number): Promise<void> {
    await writeFile(this.markOf(worker), "", { mode: PRIVATE_FILE_MODE, flush: true });
  }

  async unmark(worker: number): Promise<void> {
    await rm(this.markOf(worker), { force: true });
  }

  async marked(): Promise<readonly number[]> {
    const isMarked = await Promise.all((await this.all()).map((worker) => exists(this.markOf(worker))));
    return (await this.all()).filter((_, i) => isMarked[i]);
  }

  async remove(worker: number): Promise<boolean> {
    const directory = this.pathOf(worker);
    await keepSetAside(join(directory, SET_ASIDE_FOLDER), join(this.root, SET_ASIDE_FOLDER), `worker-${worker}-`);
    const emptied = await storesUnder(directory).catch(() => []);
    for (const { directory: store, summary } of emptied)
      if (summary.pending + summary.failed === 0 && !(await exists(store))) await rm(summaryPath(store));
    for (const name of OWN_FILES) await rm(join(directory, name), { force: true });
    return rmdir(directory).then(
      () => true,
      (error: NodeJS.ErrnoException) => error.code === "ENOENT",
    );
  }

  private async all(): Promise<number[]> {
    const entries = await readdir(this.root, { withFileTypes: true }).catch(() => []);
    const workers = entries.map((entry) => (entry.isDirectory() ? workerOfDirectory(entry.name) : undefined));
    return workers
      .filter((worker) => worker !== undefined && worker > 1)
      .sort((one, other) => one! - other!) as number[];
  }

  private markOf(worker: number): string {
    return join(this.pathOf(worker), MARK);
  }

  private pathOf(worker: number): string {
    return join(this.root, workerDirectoryName(worker));
  }
}

const MARK = ".adopting";
/** Names the entry that a worker is busy with, if it has crashed before. */
export const SUSPECT_FILE = "suspect.json";
/** Files in a worker's directory that do not belong to one of its stores. */
const OWN_FILES = [MARK, "BALLAST", SUSPECT_FILE];
const MARK_CHECK_MS = 100;

/** Waits while worker 1 settles what it had begun to move out of this worker's directory. */
export async function waitUntilUnmarked(directory: string, { clock, logger }: QueuePlaceServices): Promise<void> {
  if (!(await exists(join(directory, MARK)))) return;
  logger.info({ directory }, "waiting until worker 1 has settled moves out of these queues");
  while (await exists(join(directory, MARK))) await new Promise<void>((done) => void clock.after(MARK_CHECK_MS, done));
}

/** A summary may be outdated: it never claims more entries than there are. */
async function storesOf(directory: string): Promise<Omit<WorkerQueue, "worker">[]> {
  const names = (await readdir(directory).catch(() => [])).sort();
  const summaries = new Map(
    (await storesUnder(directory).catch(() => [])).map((store) => [store.directory, store.summary]),
  );
  const found: Omit<WorkerQueue, "worker">[] = [];
  for (const name of names) {
    const id = exporterOfDirectory(name);
    if (id === undefined || !(await storeExists(join(directory, name)))) continue;
    const { pending = 0, failed = 0 } = summaries.get(join(directory, name)) ?? {};
    found.push({ id, isFilled: pending + failed > 0 });
  }
  return found;
}

/** Damaged files are kept for inspection next to those of worker 1. */
async function keepSetAside(from: string, to: string, prefix: string): Promise<void> {
  const names = await readdir(from).catch(() => []);
  if (names.length > 0) await makePrivateDirectory(to);
  for (const name of names) await rename(join(from, name), join(to, `${prefix}${name}`));
  await rmdir(from).catch(ignoreMissing);
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOENT") throw error;
}
