import { copyFile, link, mkdir, rename } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { dataFiles, TABLE_FILE } from "../../leveldb-files/inspect-directory.js";
import { summaryPath } from "./summary-file.js";

/**
 * Keeps files that must not be lost by repairing a store, in a folder next to it that is made when it is first needed.
 * A file is kept as it was when it was first given.
 */
export class SetAsideFolder {
  path: string | undefined;
  private readonly directory: string;
  private readonly now: () => number;
  private readonly saved = new Set<string>();

  constructor(directory: string, now: () => number) {
    this.directory = directory;
    this.now = now;
  }

  async save(names: readonly string[]): Promise<void> {
    const unsaved = names.filter((name) => !this.saved.has(name));
    for (const name of unsaved) this.saved.add(name);
    await linkOrCopyFiles(this.directory, unsaved, await this.create());
  }

  async saveSummaryFile(): Promise<void> {
    const path = summaryPath(this.directory);
    await linkOrCopyFiles(dirname(path), [basename(path)], await this.create());
  }

  /** Takes all of them away: for a store that not even a repair can open. */
  async moveDataFiles(): Promise<void> {
    const folder = await this.create();
    for (const name of await dataFiles(this.directory)) await rename(join(this.directory, name), join(folder, name));
  }

  private async create(): Promise<string> {
    this.path ??= await createFolder(this.directory, this.now());
    return this.path;
  }
}

async function createFolder(directory: string, now: number): Promise<string> {
  const stamp = new Date(now).toISOString().replace(/[:.]/g, "-");
  const parent = join(dirname(directory), ".set-aside");
  await mkdir(parent, { recursive: true });
  for (let n = 0; ; n++) {
    const folder = join(parent, `${basename(directory)}-${stamp}${n === 0 ? "" : `-${n}`}`);
    try {
      await mkdir(folder);
      return folder;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }
}

/** LevelDB writes a table once and never changes it, so a second name for it is enough. */
async function linkOrCopyFiles(directory: string, names: readonly string[], folder: string): Promise<void> {
  for (const name of names) {
    const [from, to] = [join(directory, name), join(folder, name)];
    if (TABLE_FILE.test(name)) await link(from, to).catch(() => copyFile(from, to));
    else await copyFile(from, to);
  }
}
