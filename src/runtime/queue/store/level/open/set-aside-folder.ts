import { copyFile, link, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { makePrivateDirectory } from "#system";
import { dataFiles, TABLE_FILE } from "../../leveldb-files/data-files.js";
import type { EntryRef } from "../../store.js";
import { readRepair, SET_ASIDE_FOLDER } from "./marks.js";

/**
 * Keeps files that a repair must not lose, in a folder next to the store that is created when first needed. A file is
 * kept in its first saved state, even if the repair is interrupted and started again.
 */
export class SetAsideFolder {
  path: string | undefined;
  private readonly directory: string;
  private readonly now: () => number;
  private readonly saved = new Set<string>();

  private constructor(directory: string, now: () => number) {
    this.directory = directory;
    this.now = now;
  }

  /** Returns the folder of an unfinished repair, or a new one. */
  static async of(directory: string, now: () => number): Promise<SetAsideFolder> {
    const folder = new SetAsideFolder(directory, now);
    const begun = (await readRepair(directory))?.folder;
    folder.path = begun;
    const names = begun === undefined ? [] : await readdir(begun).catch(() => []);
    for (const name of names) if (!name.endsWith(PART)) folder.saved.add(name);
    return folder;
  }

  async save(names: readonly string[]): Promise<void> {
    const unsaved = names.filter((name) => !this.saved.has(name));
    await linkOrCopyFiles(this.directory, unsaved, await this.create());
    for (const name of unsaved) this.saved.add(name);
  }

  async saveSummaryFile(path: string): Promise<void> {
    if (this.saved.has(basename(path))) return;
    await linkOrCopyFiles(dirname(path), [basename(path)], await this.create());
    this.saved.add(basename(path));
  }

  /** Moves all data files into the folder. If a file was already saved, the saved version stays. */
  async moveDataFiles(): Promise<void> {
    const folder = await this.create();
    for (const name of await dataFiles(this.directory)) {
      if (this.saved.has(name)) await rm(join(this.directory, name));
      else await rename(join(this.directory, name), join(folder, name));
    }
  }

  /** Records which entries the repaired store has, so that an import of the folder can leave them out. */
  async noteRecovered(store: string, refs: readonly (readonly [EntryRef, EntryRef])[]): Promise<void> {
    if (this.path === undefined) return;
    await writeFile(join(await this.create(), RECOVERED_FILE), JSON.stringify({ store, refs }));
  }

  /**
   * Returns the path of the folder, which may not exist yet. It is recorded before the folder is created, so that an
   * interrupted repair finds it again.
   */
  async reservePath(): Promise<string> {
    this.path ??= await freePath(this.directory, this.now());
    return this.path;
  }

  private async create(): Promise<string> {
    const path = await this.reservePath();
    await makePrivateDirectory(path);
    return path;
  }
}

/**
 * A file in a set-aside folder with the store's name and the ranges of refs that were recovered (first and last of
 * each).
 */
export const RECOVERED_FILE = "recovered.json";

/** Returns an unused path. No other process creates such folders, because the store's directory is held. */
async function freePath(directory: string, now: number): Promise<string> {
  const stamp = new Date(now).toISOString().replace(/[:.]/g, "-");
  const path = join(dirname(directory), SET_ASIDE_FOLDER, `${basename(directory)}-${stamp}`);
  for (let n = 0; ; n++) {
    const next = n === 0 ? path : `${path}-${n}`;
    if (!(await stat(next).catch(() => undefined))) return next;
  }
}

/** LevelDB never changes a table after writing it, so a hard link is enough. */
async function linkOrCopyFiles(directory: string, names: readonly string[], folder: string): Promise<void> {
  for (const name of names) {
    const [from, to] = [join(directory, name), join(folder, name)];
    if (TABLE_FILE.test(name)) await link(from, to).catch(() => copyWhole(from, to));
    else await copyWhole(from, to);
  }
}

/** Copies a file under a temporary name first, so that only complete copies have the final name. */
async function copyWhole(from: string, to: string): Promise<void> {
  await copyFile(from, to + PART);
  await rename(to + PART, to);
}

const PART = ".part";
