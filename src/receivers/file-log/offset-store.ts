import { type FileHandle, mkdir, open, readFile, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { crc32c } from "#codecs";
import { makePrivateDirectory, PRIVATE_FILE_MODE } from "#system";
import { limitedLog, type ReceiverContext } from "../../plugin.js";

/** How far a file has been read. Everything before this point is safe or was never wanted. */
export interface FileMark {
  readonly offset: number;
  /** The number of records before this point. */
  readonly records: number;
  /** Whether this point is inside a record that was cut at max_log_size and whose rest is skipped. */
  readonly isSkipping: boolean;
}

/** The state kept for a file. */
interface StoredFile {
  readonly dev: number;
  readonly ino: number;
  readonly path: string;
  readonly fingerprint: Buffer;
  readonly mark: FileMark;
}

interface StoredOffsets {
  readonly files: readonly StoredFile[];
  /** The patterns watched at the last write. Unknown files that match them have appeared since. */
  readonly patterns: readonly string[];
  /** Whether the stored offsets could not be read, so earlier progress is unknown. */
  readonly isDamaged: boolean;
}

/** A file whose mark is kept. The store assigns `id`. */
export interface KeptFile extends StoredFile {
  storeId?: number | undefined;
}

/**
 * Offsets in one file on disk, with a line for each known file and a line for each move of a mark. Lines are appended
 * as marks move, one write at a time. From time to time the file is rewritten to a new file that replaces it. Each line
 * has a checksum; a half-written last line is ignored. If a machine failure loses the last lines, the records they
 * covered are read again.
 */
export class OffsetStore {
  private readonly path: string;
  private readonly context: ReceiverContext;
  private readonly logFailure: (error: unknown) => void;
  private patterns: readonly string[] = [];
  private readonly files = new Set<KeptFile>();
  private readonly changed = new Set<KeptFile>();
  private readonly moved = new Set<KeptFile>();
  private removed: number[] = [];
  private handle: FileHandle | undefined;
  private nextId = 1;
  private size = 0;
  private sizeAtRewrite = 0;
  private writing: Promise<void> | undefined;
  private isRewriteDue = false;

  constructor(path: string, context: ReceiverContext) {
    this.path = path;
    this.context = context;
    this.logFailure = limitedLog(context.clock, (error, suppressed) =>
      context.logger.error(
        { path, reason: (error as Error).message, suppressed },
        "offsets could not be written; after a restart, records read since then are read again",
      ),
    );
  }

  /** Throws the file system's error if the directory cannot be created or the file cannot be read. */
  async load(): Promise<StoredOffsets> {
    await makePrivateDirectory(dirname(this.path));
    let text: Buffer;
    try {
      text = await readFile(this.path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      return { files: [], patterns: [], isDamaged: false };
    }
    return this.parse(text);
  }

  /** Starts writing: rewrites the file with the kept state. */
  async begin(patterns: readonly string[]): Promise<void> {
    this.patterns = patterns;
    await this.rewrite();
  }

  keep(file: KeptFile): void {
    this.files.add(file);
    this.changed.add(file);
    this.wake();
  }

  /** Called when the file's mark has moved. */
  markMoved(file: KeptFile): void {
    if (!this.files.has(file)) return;
    this.moved.add(file);
    this.wake();
  }

  forget(file: KeptFile): void {
    this.files.delete(file);
    this.changed.delete(file);
    this.moved.delete(file);
    if (file.storeId !== undefined) this.removed.push(file.storeId);
    file.storeId = undefined;
    this.wake();
  }

  /** Resolves when all changes have been written or have failed to be written. */
  async flush(): Promise<void> {
    while (this.writing !== undefined) await this.writing;
  }

  async close(): Promise<void> {
    await this.flush();
    await this.handle?.close().catch(() => {});
    this.handle = undefined;
  }

  private parse(bytes: Buffer): StoredOffsets {
    const files = new Map<number, StoredFile>();
    let patterns: readonly string[] | undefined;
    let damagedLines = 0;
    for (let from = 0; from < bytes.length; ) {
      const end = bytes.indexOf(10, from);
      const line = readLine(bytes.subarray(from, end < 0 ? bytes.length : end));
      from = end < 0 ? bytes.length : end + 1;
      if (line === undefined) {
        if (from < bytes.length) damagedLines++;
        continue;
      }
      if (line.patterns !== undefined) patterns = line.patterns;
      if (line.id === undefined) continue;
      const before = files.get(line.id);
      const mark = { offset: line.o ?? 0, records: line.n ?? 0, isSkipping: line.s === true };
      if (line.gone) files.delete(line.id);
      else if (line.path !== undefined) {
        const fingerprint = Buffer.from(line.fp ?? "", "base64");
        files.set(line.id, { dev: line.dev ?? 0, ino: line.ino ?? 0, path: line.path, fingerprint, mark });
      } else if (before !== undefined) files.set(line.id, { ...before, mark });
    }
    const isDamaged = patterns === undefined;
    if (damagedLines > 0 || isDamaged) {
      const fields = { path: this.path, damagedLines, known: files.size };
      this.context.logger.error(fields, "the offsets file is damaged; files whose offsets are lost are read again");
    }
    return { files: [...files.values()], patterns: patterns ?? [], isDamaged };
  }

  /** Writes pending changes. */
  wake(): void {
    if (this.handle === undefined || this.writing !== undefined || !this.isBehind) return;
    this.writing = this.writeAll().finally(() => {
      this.writing = undefined;
    });
  }

  private async writeAll(): Promise<void> {
    await Promise.resolve(); // changes made in the same tick share one write
    while (this.isBehind) {
      try {
        if (this.isRewriteDue || this.size > MIN_REWRITE_SIZE + 4 * this.sizeAtRewrite) await this.rewrite();
        else await this.append();
      } catch (error) {
        this.logFailure(error);
        this.isRewriteDue = true; // the file may end in half a line
        return; // the next mark that moves, or the next look at the files, retries
      }
    }
  }

  private get isBehind(): boolean {
    return this.changed.size + this.moved.size + this.removed.length > 0;
  }

  private async append(): Promise<void> {
    const lines: string[] = this.removed.map((id) => line({ id, gone: true }));
    for (const file of this.changed) lines.push(this.fileLine(file));
    for (const file of this.moved) {
      if (!this.changed.has(file)) lines.push(line({ id: file.storeId, ...markFields(file.mark) }));
    }
    const [changed, moved, removed] = [[...this.changed], [...this.moved], this.removed];
    this.changed.clear();
    this.moved.clear();
    this.removed = [];
    try {
      const text = lines.join("");
      await this.handle!.write(text);
      this.size += text.length;
    } catch (error) {
      for (const file of changed) if (this.files.has(file)) this.changed.add(file);
      for (const file of moved) if (this.files.has(file)) this.moved.add(file);
      this.removed.push(...removed);
      throw error;
    }
  }

  private async rewrite(): Promise<void> {
    this.changed.clear();
    this.moved.clear();
    this.removed = [];
    const files = [...this.files];
    try {
      const text = line({ patterns: this.patterns }) + files.map((file) => this.fileLine(file)).join("");
      await mkdir(dirname(this.path), { recursive: true });
      const handle = await open(`${this.path}.new`, "w", PRIVATE_FILE_MODE);
      try {
        await handle.write(text);
        await handle.sync();
        await rename(`${this.path}.new`, this.path);
      } catch (error) {
        await handle.close().catch(() => {});
        throw error;
      }
      await this.handle?.close().catch(() => {});
      this.handle = handle;
      this.size = text.length;
      this.sizeAtRewrite = text.length;
      this.isRewriteDue = false;
    } catch (error) {
      for (const file of files) if (this.files.has(file)) this.changed.add(file);
      throw error;
    }
  }

  private fileLine(file: KeptFile): string {
    file.storeId ??= this.nextId++;
    const { storeId: id, dev, ino, path, mark } = file;
    return line({ id, dev, ino, path, fp: file.fingerprint.toString("base64"), ...markFields(mark) });
  }
}

const MIN_REWRITE_SIZE = 256 * 1024;

interface StoreLine {
  readonly patterns?: readonly string[];
  readonly id?: number | undefined;
  readonly gone?: boolean;
  readonly dev?: number;
  readonly ino?: number;
  readonly path?: string;
  readonly fp?: string;
  readonly o?: number;
  readonly n?: number;
  readonly s?: boolean;
}

function markFields({ offset, records, isSkipping }: FileMark): Pick<StoreLine, "o" | "n" | "s"> {
  return { o: offset, n: records, ...(isSkipping && { s: true }) };
}

function line(value: StoreLine): string {
  const json = JSON.stringify(value);
  return `${checksum(Buffer.from(json))} ${json}\n`;
}

function readLine(bytes: Buffer): StoreLine | undefined {
  const json = bytes.subarray(9);
  if (bytes.length < 10 || bytes.toString("latin1", 0, 8) !== checksum(json)) return undefined;
  return JSON.parse(json.toString()) as StoreLine;
}

function checksum(bytes: Buffer): string {
  return (crc32c(bytes) >>> 0).toString(16).padStart(8, "0");
}
