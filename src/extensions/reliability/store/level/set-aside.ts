import { copyFile, link, mkdir, readdir, rename } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { DATA_FILE } from "./inspect.js";

/** A new folder next to the store for files that must not be lost by repairing it. */
export async function makeSetAside(directory: string, now: number): Promise<string> {
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

/** Keeps these files. Tables are never changed once written, so a second name for them is enough. */
export async function keepFiles(directory: string, names: readonly string[], folder: string): Promise<void> {
  for (const name of names) {
    const [from, to] = [join(directory, name), join(folder, name)];
    if (/\.(ldb|sst)$/.test(name)) await link(from, to).catch(() => copyFile(from, to));
    else await copyFile(from, to);
  }
}

export async function dataFiles(directory: string): Promise<string[]> {
  return (await readdir(directory)).filter((name) => DATA_FILE.test(name));
}

/** Takes all of them away: for a store that not even a repair can open. */
export async function moveFiles(directory: string, folder: string): Promise<void> {
  for (const name of await dataFiles(directory)) await rename(join(directory, name), join(folder, name));
}
