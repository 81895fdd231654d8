import { type FileHandle, open, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { textChecksum } from "#codecs";
import { PRIVATE_FILE_MODE } from "#system";
import { type Meta, type RefSum, removedBy } from "../../format/entry.js";
import { dataFiles } from "../../leveldb-files/data-files.js";

/**
 * A small file with the state of a store at a recent commit. It distinguishes a new store from an emptied one, and
 * shows if the end of LevelDB's log is missing. It follows the commits by a few milliseconds and without fsync, so it
 * never claims more than the store has. There are two copies, one next to the directory (`<directory>.witness`) and one
 * in it (`WITNESS`), in case one is removed with other files.
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
  /**
   * Upper limits for the last ref (`maxLast`) and the number of removed entries that hold until a newer summary is
   * written.
   */
  readonly maxLast?: number;
  readonly maxRemoved?: number;
  /** Whether the store was closed, so that nothing was written afterwards. */
  readonly isClosed?: boolean;
}

export function summaryPath(directory: string): string {
  return `${directory}.witness`;
}

/** The two summary files of a store, as far as they exist. */
interface Summaries {
  /** Undefined if there is none, or none that is intact. */
  readonly newest: StoreSummary | undefined;
  /** The greater format of the two. */
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

/** If the two belong to different stores, the inner one came with the files and is used. */
function newer(inner: StoreSummary, outer: StoreSummary): StoreSummary {
  const isOuterNewer = outer.commits > inner.commits || (outer.commits === inner.commits && outer.last > inner.last);
  return outer.store === inner.store && isOuterNewer ? outer : inner;
}

function innerPath(directory: string): string {
  return join(directory, "WITNESS");
}

/** Returns "missing" if there is no file, and "damaged" if its checksum does not match. */
async function readSummaryAt(path: string): Promise<StoreSummary | "missing" | "damaged"> {
  try {
    return parseSummary(await readFile(path, "utf8")) ?? "damaged";
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "missing";
    throw error;
  }
}

/** Whether a directory has, or had, a store. */
export async function isStoreDirectory(directory: string): Promise<boolean> {
  return (await dataFiles(directory)).length > 0 || (await readSummaryAt(summaryPath(directory))) !== "missing";
}

/** Like `isStoreDirectory`, for a directory that may not exist. */
export async function storeExists(directory: string): Promise<boolean> {
  try {
    return await isStoreDirectory(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}

/** The stores in a directory whose summary files are intact. */
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

/** Writing the files costs about as much as a commit, so not every commit writes them. */
const WRITE_INTERVAL_MS = 20;

/**
 * Writes summaries, one at a time. Of several that come during a write or within a few milliseconds, only the newest is
 * written. Each limits how much may be put and removed before the next one. If a crash and damage take the end of the
 * log, the number of lost entries is known only within these limits.
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

  /**
   * Creates the files again, so that a damaged one is replaced atomically. On a full disk the existing files are used.
   */
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
      const file = await openIfExists(path);
      if (file !== undefined) this.files.push(file);
    }
  }

  /** Never fails: a summary that cannot be written is only outdated. */
  write(meta: Meta): void {
    this.newest = meta;
    this.isWritten = false;
    this.timer ??= this.writeAndWait();
  }

  /**
   * To be called before a commit. Resolves when the limits in the files cover the commit; undefined if they already do.
   */
  allow(next: Meta): Promise<void> | undefined {
    if (this.newest === undefined || this.files.length === 0) return undefined;
    const allowsPuts = this.puts.allows(next.last);
    const allowsRemovals = this.removals.allows(removedBy(next));
    return allowsPuts && allowsRemovals ? undefined : this.writeAllowance(next);
  }

  /** Writes the last summary. To be called when the store is closed or reopened. */
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

  /** Writes now, and again after the interval if there are newer summaries by then. */
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

  /** Always has the same length, so that the file can be overwritten in place. */
  private render(meta: Meta, isClosed = false): string {
    const { format, store, exporter, commits, last, refSum } = meta;
    const summary: StoreSummary = {
      format,
      store,
      exporter,
      commits,
      last,
      refSum,
      pending: meta.pending.entries,
      failed: meta.failed.entries,
      ...(isClosed ? { isClosed } : { maxLast: this.puts.next(last), maxRemoved: this.removals.next(removedBy(meta)) }),
    };
    const text = JSON.stringify(summary).padEnd(502);
    return `${text} ${textChecksum(text)}\n`;
  }
}

/** Limits how far a number may grow before it is written again: about twice its recent growth between two writes. */
class GrowthLimit {
  private written = Number.NaN;
  private max = 0;
  private growth = 0;

  allows(value: number): boolean {
    return value <= this.max;
  }

  /** Makes the next limit large enough for this value. */
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

async function openIfExists(path: string): Promise<FileHandle | undefined> {
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
