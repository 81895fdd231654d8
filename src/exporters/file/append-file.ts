import { chmod, type FileHandle, mkdir, open, rename, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { Logger } from "../../plugin.js";
import { type Backups, stampText } from "./backups.js";
import { type Framing, MAX_LINE_BYTES, readBytes } from "./framing.js";

interface AppendFileSettings {
  readonly path: string;
  readonly framing: Framing;
  readonly maxBytes: number;
  readonly backups: Backups;
  readonly fsync: boolean;
  /** Permissions of directories to create; undefined: they must exist. */
  readonly directoryMode: number | undefined;
  /** Permissions of the file, new or not. */
  readonly fileMode: number;
  readonly logger: Logger;
  readonly now: () => number;
  /** Opens a file for appending and reading; replaced in tests to make a disk fail. */
  readonly open?: (path: string) => Promise<FileHandle>;
}

/**
 * A file that only whole frames are appended to.
 *
 * Invariants:
 * - `write` resolves when every frame is in the file that bears the path, in order; when it rejects, none of them is,
 *   unless the disk also refuses to take the half-written part back: then the file is inspected before its next use.
 * - A frame is never split over two files. One that is larger than `maxBytes` has a file for itself.
 * - The first `size` bytes are whole frames. What lies behind them when the file is opened (a crash in the middle of a
 *   write) is copied to `<path>.torn-<time>` and cut off; a file of another format is moved there as a whole.
 * - With `fsync`, what was written and the names of the files are on the disk before `write` resolves.
 * - A file that somebody moved or deleted is not written to any more: the path is looked at before every write.
 *
 * Devices and pipes (`/dev/stdout`) are written to as they are. Calls must not overlap.
 */
export class AppendFile {
  private readonly settings: AppendFileSettings;
  private handle: FileHandle | undefined;
  private size = 0;
  private identity = "";
  private isRegularFile = true;
  private rotationFailed = false;

  constructor(settings: AppendFileSettings) {
    this.settings = settings;
  }

  /** Opens the file, and makes it fit for appending. */
  async open(): Promise<void> {
    const { path, directoryMode } = this.settings;
    if (directoryMode !== undefined) await this.createDirectories(dirname(path), directoryMode);
    this.handle = await (this.settings.open ?? this.openForAppend)(path);
    const found = await this.handle.stat();
    this.isRegularFile = found.isFile();
    this.identity = identityOf(found);
    this.size = this.isRegularFile ? found.size : 0;
    if (this.isRegularFile) await this.setPermissions(found.mode);
    if (this.isRegularFile) await this.repair();
    if (this.settings.fsync && this.isRegularFile) await syncDirectory(dirname(path));
  }

  /** Moves the file to the backups and begins a new one. */
  async rotate(): Promise<void> {
    if (!this.isRegularFile || this.size === 0) return;
    await this.close();
    try {
      await this.settings.backups.add();
      this.rotationFailed = false;
    } catch (error) {
      if (!this.rotationFailed) this.settings.logger.warn({ error }, "cannot rotate the file; it grows on");
      this.rotationFailed = true;
    }
    await this.open();
    await this.settings.backups.prune().catch((error: unknown) => {
      this.settings.logger.warn({ error }, "cannot delete old backups");
    });
  }

  /** How many of these frames, at least one, are to be in one file. Rotates first when not even one fits. */
  async countThatFits(frames: readonly Buffer[]): Promise<number> {
    await this.reopenIfMoved();
    if (this.size > 0 && this.size + frames[0]!.length > this.settings.maxBytes) await this.rotate();
    let end = this.size + frames[0]!.length;
    let count = 1;
    while (count < frames.length && (end += frames[count]!.length) <= this.settings.maxBytes) count++;
    return count;
  }

  /** Appends the frames in one write. Call `room` before. */
  async write(frames: readonly Buffer[]): Promise<void> {
    const bytes = frames.length === 1 ? frames[0]! : Buffer.concat(frames);
    try {
      await writeAll(this.handle!, bytes);
      if (this.settings.fsync && this.isRegularFile) await this.handle!.datasync();
    } catch (error) {
      await this.undoWrite();
      throw error;
    }
    this.size += bytes.length;
  }

  async close(): Promise<void> {
    const { handle } = this;
    this.handle = undefined;
    await handle?.close();
  }

  private readonly openForAppend = (path: string): Promise<FileHandle> => {
    const { fileMode } = this.settings;
    // A device or pipe may refuse to be read from, and is not.
    return open(path, "a+", fileMode).catch(() => open(path, "a", fileMode));
  };

  /** A file of somebody else keeps those it has: it can be written to, so that nothing is refused for it. */
  private async setPermissions(mode: number): Promise<void> {
    const { path, fileMode, logger } = this.settings;
    if (process.platform === "win32" || (mode & 0o777) === fileMode) return;
    const isLoose = (mode & 0o777 & ~fileMode) !== 0;
    const wanted = fileMode.toString(8).padStart(4, "0");
    try {
      await this.handle!.chmod(fileMode);
      if (isLoose) logger.warn({ path }, `others could use the file: it has the permissions ${wanted} now`);
    } catch (error) {
      if (isLoose) logger.warn({ path, error }, `the file cannot be given the permissions ${wanted}`);
    }
  }

  /** Their names survive a power loss as the file's does. */
  private async createDirectories(directory: string, mode: number): Promise<void> {
    const first = await mkdir(directory, { recursive: true, mode });
    if (first === undefined) return;
    for (let created = directory; created.length >= first.length; created = dirname(created)) {
      // The umask of the process may have taken some of them.
      await chmod(created, mode).catch(() => {});
      if (this.settings.fsync) await syncDirectory(dirname(created));
    }
  }

  private async reopenIfMoved(): Promise<void> {
    if (this.handle === undefined) return this.open();
    if (!this.isRegularFile) return;
    const found = await stat(this.settings.path).catch(() => undefined);
    if (found !== undefined && identityOf(found) === this.identity && found.size === this.size) return;
    await this.close();
    await this.open();
  }

  private async undoWrite(): Promise<void> {
    if (!this.isRegularFile) return;
    try {
      await this.handle!.truncate(this.size);
    } catch {
      await this.close().catch(() => {});
    }
  }

  private async repair(): Promise<void> {
    const { completeBytes, close } = await this.settings.framing.inspect(this.handle!, this.size);
    if (close) {
      await writeAll(this.handle!, close);
      this.size += close.length;
    } else if (completeBytes < this.size) {
      await this.moveTornEndAside(completeBytes);
    }
  }

  private async moveTornEndAside(completeBytes: number): Promise<void> {
    const { path, logger } = this.settings;
    const torn = await unusedPath(`${path}.torn-${stampText(this.settings.now())}`);
    const bytes = this.size - completeBytes;
    logger.warn({ torn, bytes }, "the file does not end with a whole batch: its unfinished end is set aside");
    if (completeBytes === 0 || bytes > MAX_LINE_BYTES) {
      await this.close();
      await rename(path, torn);
      return this.open();
    }
    await writeFile(torn, await readBytes(this.handle!, completeBytes, bytes), { mode: this.settings.fileMode });
    await this.handle!.truncate(completeBytes);
    this.size = completeBytes;
  }
}

async function unusedPath(wanted: string): Promise<string> {
  for (let n = 0; ; n++) {
    const path = n === 0 ? wanted : `${wanted}-${n}`;
    if ((await stat(path).catch(() => undefined)) === undefined) return path;
  }
}

async function writeAll(handle: FileHandle, bytes: Buffer): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    done += (await handle.write(bytes, done, bytes.length - done)).bytesWritten;
  }
}

function identityOf(stats: { readonly dev: number; readonly ino: number }): string {
  return `${stats.dev}:${stats.ino}`;
}

/** So that the names in it survive a power loss too: of a file that is new, or was rotated away. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, "r").catch(ignoreUnsupported);
  await directory?.sync().catch(ignoreUnsupported);
  await directory?.close();
}

/** A system on which directories cannot be flushed does not need it. */
function ignoreUnsupported(error: NodeJS.ErrnoException): undefined {
  if (error.code === undefined || !/^(EPERM|EACCES|EISDIR|EINVAL|ENOTSUP|ENOSYS)$/.test(error.code)) throw error;
}
