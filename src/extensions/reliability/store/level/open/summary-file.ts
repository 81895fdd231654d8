import { type FileHandle, open, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { PRIVATE_FILE_MODE } from "../../../../../runtime/kit.js";
import { crc32c } from "../../format/crc32c.js";
import type { Meta } from "../../format/meta.js";
import { dataFiles } from "../../leveldb-files/inspect-directory.js";

/**
 * A small file that says what was in a store at the last commit it saw. It tells a new store from an emptied one, and
 * shows when the end of LevelDB's log is missing. It follows the commits (a few milliseconds behind, without fsync), so
 * it never promises more than the store has. It is there twice, next to the directory (`<directory>.witness`) and in it
 * (`WITNESS`): whoever removes one of them with other files leaves the other.
 */
export interface StoreSummary {
  readonly format: number;
  readonly store: string;
  readonly exporter: string;
  readonly commits: number;
  readonly last: number;
  readonly pending: number;
  readonly failed: number;
}

export function summaryPath(directory: string): string {
  return `${directory}.witness`;
}

/** Both files of a store, as far as they are there. */
export interface Summaries {
  /** Undefined when there is none, or none that is intact. */
  readonly newest: StoreSummary | undefined;
  /** The greatest of their formats. */
  readonly format: number;
  readonly damagedPaths: readonly string[];
}

export async function readSummaries(directory: string): Promise<Summaries> {
  const paths = [innerPath(directory), summaryPath(directory)];
  const read = await Promise.all(paths.map(readSummaryAt));
  const [inner, outer] = read.map((summary) => (typeof summary === "string" ? undefined : summary));
  const newest = inner !== undefined && outer !== undefined ? newer(inner, outer) : (inner ?? outer);
  const format = Math.max(inner?.format ?? 0, outer?.format ?? 0);
  return { newest, format, damagedPaths: paths.filter((_, i) => read[i] === "damaged") };
}

/** The one inside came with the files, if they are not of the same store. */
function newer(inner: StoreSummary, outer: StoreSummary): StoreSummary {
  const isOuterNewer = outer.commits > inner.commits || (outer.commits === inner.commits && outer.last > inner.last);
  return outer.store === inner.store && isOuterNewer ? outer : inner;
}

function innerPath(directory: string): string {
  return join(directory, "WITNESS");
}

/** "missing" when there is no file, "damaged" when its checksum does not match. */
async function readSummaryAt(path: string): Promise<StoreSummary | "missing" | "damaged"> {
  try {
    return parseSummary(await readFile(path, "utf8")) ?? "damaged";
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "missing";
    throw error;
  }
}

/** Whether there is, or was, a store in a directory. */
export async function isStoreDirectory(directory: string): Promise<boolean> {
  return (await dataFiles(directory)).length > 0 || (await readSummaryAt(summaryPath(directory))) !== "missing";
}

/** The same for a directory that may not be there. */
export async function isStoreThere(directory: string): Promise<boolean> {
  try {
    return await isStoreDirectory(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}

/** The stores below a directory whose summary files are intact. */
export async function storesUnder(root: string): Promise<{ directory: string; summary: StoreSummary }[]> {
  const names = (await readdir(root)).filter((name) => name.endsWith(".witness")).sort();
  const found: { directory: string; summary: StoreSummary }[] = [];
  for (const name of names) {
    const directory = join(root, name.slice(0, -".witness".length));
    const summary = await readSummaryAt(summaryPath(directory)).catch(() => "damaged" as const);
    if (typeof summary !== "string") found.push({ directory, summary });
  }
  return found;
}

/** A write of the files costs about as much as one of the store, so that not every commit has one of its own. */
const WRITE_DELAY_MS = 20;

/** Writes summaries, one at a time; of several that come during a write, or within a few milliseconds, only the newest. */
export class SummaryFile {
  private readonly paths: readonly string[];
  private files: FileHandle[] = [];
  private newest: Meta | undefined;
  private writing: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(directory: string) {
    this.paths = [innerPath(directory), summaryPath(directory)];
  }

  /** Makes the files anew, so that a damaged one is replaced in one step. On a full disk those that are there must do. */
  async start(meta: Meta): Promise<void> {
    await this.stop();
    for (const path of this.paths) {
      try {
        const temporaryPath = join(dirname(path), `.${basename(path)}.new`);
        await writeFile(temporaryPath, renderSummary(meta), { flush: true, mode: PRIVATE_FILE_MODE });
        await rename(temporaryPath, path);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
      }
      const file = await openIfThere(path);
      if (file !== undefined) this.files.push(file);
    }
  }

  /** Never fails: a summary that cannot be written is only older. */
  write(meta: Meta): void {
    this.newest = meta;
    this.timer ??= setTimeout(() => this.writeNow(), WRITE_DELAY_MS).unref();
  }

  async stop(): Promise<void> {
    this.writeNow();
    await this.writing;
    const files = this.files;
    this.files = [];
    for (const file of files) {
      await file.datasync().catch(() => {});
      await file.close();
    }
  }

  private writeNow(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.writing ??= this.writeNewest().finally(() => {
      this.writing = undefined;
    });
  }

  private async writeNewest(): Promise<void> {
    while (this.newest !== undefined && this.files.length > 0) {
      const text = renderSummary(this.newest);
      this.newest = undefined;
      for (const file of this.files) await file.write(text, 0).catch(() => {});
    }
  }
}

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, "r+");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return undefined;
  }
}

/** Always of the same length, so that it can be written over in place. */
function renderSummary(meta: Meta): string {
  const { format, store, exporter, commits, last } = meta;
  const summary = {
    format,
    store,
    exporter,
    commits,
    last,
    pending: meta.pending.entries,
    failed: meta.failed.entries,
  };
  const text = JSON.stringify(summary).padEnd(502);
  return `${text} ${checksum(text)}\n`;
}

function parseSummary(text: string): StoreSummary | undefined {
  const line = text.split("\n")[0]!;
  const cut = line.lastIndexOf(" ");
  const json = line.slice(0, cut);
  return cut > 0 && checksum(json) === line.slice(cut + 1) ? (JSON.parse(json) as StoreSummary) : undefined;
}

function checksum(text: string): string {
  return crc32c(Buffer.from(text)).toString(16).padStart(8, "0");
}
