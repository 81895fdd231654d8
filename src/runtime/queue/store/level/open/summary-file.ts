import { type FileHandle, open, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { PRIVATE_FILE_MODE } from "#system";
import { textChecksum } from "../../format/crc32c.js";
import type { Meta, RefSum } from "../../format/meta.js";
import { dataFiles } from "../../leveldb-files/inspect-directory.js";
import { removedBy } from "./lost-entries.js";

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
  readonly refSum?: RefSum | undefined;
  /** No greater ref was given out, and no more entries were removed, before a newer summary was written. */
  readonly maxLast?: number;
  readonly maxRemoved?: number;
  /** The store was closed then: nothing came after it. */
  readonly isClosed?: boolean;
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
const WRITE_INTERVAL_MS = 20;

/**
 * Writes summaries, one at a time; of several that come during a write, or within a few milliseconds, only the newest. Each says
 * how much may be put and removed before the next: when a crash and damage take the end of the log, that is how exact
 * anybody can be.
 */
export class SummaryFile {
  private readonly paths: readonly string[];
  private files: FileHandle[] = [];
  private newest: Meta | undefined;
  private isWritten = true;
  private writing: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private readonly puts = new GrowthLimit();
  private readonly removals = new GrowthLimit();

  constructor(directory: string) {
    this.paths = [innerPath(directory), summaryPath(directory)];
  }

  /** Makes the files anew, so that a damaged one is replaced in one step. On a full disk those that are there must do. */
  async start(meta: Meta): Promise<void> {
    await this.stop();
    this.newest = meta;
    for (const path of this.paths) {
      try {
        const temporaryPath = join(dirname(path), `.${basename(path)}.new`);
        await writeFile(temporaryPath, this.render(meta), { flush: true, mode: PRIVATE_FILE_MODE });
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
    this.isWritten = false;
    this.timer ??= this.writeAndWait();
  }

  /** To be called before a commit. Resolves when the files allow for what it puts and removes; undefined when they do already. */
  allow(next: Meta): Promise<void> | undefined {
    if (this.newest === undefined || this.files.length === 0) return undefined;
    const allowsPuts = this.puts.allows(next.last);
    const allowsRemovals = this.removals.allows(removedBy(next));
    return allowsPuts && allowsRemovals ? undefined : this.writeAllowance(next);
  }

  /** With the last summary; the store is closed then, or opened again. */
  async stop(isClosed = false): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    await this.writing;
    if (this.newest !== undefined && (isClosed || !this.isWritten)) await this.writeNow(isClosed);
    const files = this.files;
    this.files = [];
    for (const file of files) {
      await file.datasync().catch(() => {});
      await file.close();
    }
  }

  /** Now, and again after a while if something has come until then. */
  private writeAndWait(): NodeJS.Timeout {
    this.writing ??= this.writeNow();
    return setTimeout(() => {
      this.timer = this.isWritten ? undefined : this.writeAndWait();
    }, WRITE_INTERVAL_MS).unref();
  }

  private async writeAllowance(next: Meta): Promise<void> {
    await this.writing;
    this.puts.raise(next.last);
    this.removals.raise(removedBy(next));
    this.writing = this.writeNow();
    await this.writing;
  }

  private writeNow(isClosed = false): Promise<void> {
    const text = this.render(this.newest!, isClosed);
    this.isWritten = true;
    const writes = this.files.map((file) => file.write(text, 0).catch(() => {}));
    return Promise.all(writes).then(() => {
      this.writing = undefined;
    });
  }

  /** Always of the same length, so that it can be written over in place. */
  private render(meta: Meta, isClosed = false): string {
    const { format, store, exporter, commits, last, refSum } = meta;
    const summary: StoreSummary = {
      ...{ format, store, exporter, commits, last, refSum },
      pending: meta.pending.entries,
      failed: meta.failed.entries,
      ...(isClosed ? { isClosed } : { maxLast: this.puts.next(last), maxRemoved: this.removals.next(removedBy(meta)) }),
    };
    const text = JSON.stringify(summary).padEnd(502);
    return `${text} ${textChecksum(text)}\n`;
  }
}

/** How far a number may grow before it is written again: about twice as far as it has grown between two writes of late. */
class GrowthLimit {
  private written = Number.NaN;
  private max = 0;
  private growth = 0;

  allows(value: number): boolean {
    return value <= this.max;
  }

  /** The next that is written must allow for this. */
  raise(value: number): void {
    if (value > this.max) this.growth = Math.max(this.growth, value - this.written);
  }

  next(value: number): number {
    const grown = Number.isNaN(this.written) ? 0 : value - this.written;
    this.growth = Math.max(grown, this.growth * 0.9);
    this.written = value;
    this.max = value + (this.growth < 0.1 ? 0 : Math.ceil(2 * this.growth));
    return this.max;
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

function parseSummary(text: string): StoreSummary | undefined {
  const line = text.split("\n")[0]!;
  const cut = line.lastIndexOf(" ");
  const json = line.slice(0, cut);
  return cut > 0 && textChecksum(json) === line.slice(cut + 1) ? (JSON.parse(json) as StoreSummary) : undefined;
}
