import { chmod, type FileHandle, mkdir, open, rename, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { Logger } from "../../../plugin.js";
import { type Backups, stampText } from "./backups.js";
import { type Framing, MAX_LINE_BYTES, readBytes } from "./framing.js";

interface AppendFileSettings {
  readonly path: string;
  readonly framing: Framing;
  readonly maxBytes: number;
  readonly backups: Backups;
  readonly fsync: boolean;
  /** Permissions of created directories; undefined if directories must exist. */
  readonly directoryMode: number | undefined;
  /** Permissions of the file, whether new or existing. */
  readonly fileMode: number;
  readonly logger: Logger;
  readonly now: () => number;
  /** Opens a file for appending and reading. Tests replace it to simulate a failing disk. */
  readonly open?: (path: string) => Promise<FileHandle>;
}

/**
 * A file to which only whole frames are appended.
 *
 * Invariants:
 * - `write` resolves when every frame is in the file at the path, in order. When it rejects, none of them is, unless
 *   the disk also refuses to remove the partly written frames; the file is then inspected before its next use.
 * - A frame is never split over two files. A frame larger than `maxBytes` gets a file of its own.
 * - The first `size` bytes are whole frames. If a file has more bytes when it is opened (after a crash during a
 *   write), they are copied to `<path>.torn-<time>` and cut off; a file of another format is moved there as a whole.
 * - With `fsync`, the written bytes and the names of the files are on the disk before `write` resolves.
 * - A file that was moved or deleted is no longer written to: the path is checked before every write.
 *
 * Devices and pipes (`/dev/stdout`) are written to without these checks. Calls must not overlap.
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

  /** Opens the file and prepares it for appending. */
  async open(): Promise<void> {
    const { path, directoryMode } = this.settings;
    if (directoryMode !== undefined) await createDirectories(dirname(path), directoryMode, this.settings.fsync);
    this.handle = await (this.settings.open ?? this.openForAppend)(path);
    const found = await this.handle.stat();
    this.isRegularFile = found.isFile();
    this.identity = identityOf(found);
    this.size = this.isRegularFile ? found.size : 0;
    if (this.isRegularFile) await this.setPermissions(found.mode);
    if (this.isRegularFile) await this.repair();
    if (this.settings.fsync && this.isRegularFile) await syncDirectory(dirname(path));
  }

  /** Moves the file to the backups and starts a new one. */
  async rotate(): Promise<void> {
    if (!this.isRegularFile || this.size === 0) return;
    await this.close();
    try {
      await this.settings.backups.add();
      this.rotationFailed = false;
    } catch (error) {
      if (!this.rotationFailed) this.settings.logger.warn({ error }, "cannot rotate the file; it keeps growing");
      this.rotationFailed = true;
    }
    await this.open();
    await this.settings.backups.prune().catch((error: unknown) => {
      this.settings.logger.warn({ error }, "cannot delete old backups");
    });
  }

  /** Returns how many of these frames go into the present file, at least one. Rotates first if not even one fits. */
  async countThatFits(frames: readonly Buffer[]): Promise<number> {
    await this.reopenIfMoved();
    if (this.size > 0 && this.size + frames[0]!.length > this.settings.maxBytes) await this.rotate();
    let end = this.size + frames[0]!.length;
    let count = 1;
    while (count < frames.length && (end += frames[count]!.length) <= this.settings.maxBytes) count++;
    return count;
  }

  /** Appends the frames in one write. Call `countThatFits` first. */
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
    // A device or pipe may not be readable; it is never read from.
    return open(path, "a+", fileMode).catch(() => open(path, "a", fileMode));
  };

  /** A file of another owner keeps its permissions. Nothing is refused, because it can be written to. */
  private async setPermissions(mode: number): Promise<void> {
    const { path, fileMode, logger } = this.settings;
    if (process.platform === "win32" || (mode & 0o777) === fileMode) return;
    const isTooOpen = (mode & 0o777 & ~fileMode) !== 0;
    const wanted = fileMode.toString(8).padStart(4, "0");
    try {
      await this.handle!.chmod(fileMode);
      if (isTooOpen)
        logger.warn({ path }, `other users had access to the file: its permissions were changed to ${wanted} now`);
    } catch (error) {
      if (isTooOpen) logger.warn({ path, error }, `the file cannot be given the permissions ${wanted}`);
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
    logger.warn({ torn, bytes }, "the file does not end with a complete batch: the incomplete end is set aside");
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

/** Creates directories; with `fsync` their names survive a power loss. */
export async function createDirectories(directory: string, mode: number, fsync: boolean): Promise<void> {
  const first = await mkdir(directory, { recursive: true, mode });
  if (first === undefined) return;
  for (let created = directory; created.length >= first.length; created = dirname(created))
    await prepareCreated(created, mode, fsync);
}

/** Like `createDirectories`, but rejects with ENOENT if `folder`, in which the directory is, does not exist. */
export async function createDirectoriesIn(
  folder: string,
  directory: string,
  mode: number,
  fsync: boolean,
): Promise<void> {
  if (directory === folder) return;
  try {
    await mkdir(directory, { mode });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return;
    if (code !== "ENOENT" || dirname(directory) === folder) throw error;
    await createDirectoriesIn(folder, dirname(directory), mode, fsync);
    return createDirectoriesIn(folder, directory, mode, fsync);
  }
  await prepareCreated(directory, mode, fsync);
}

async function prepareCreated(directory: string, mode: number, fsync: boolean): Promise<void> {
  // The umask of the process may have removed some permissions.
  await chmod(directory, mode).catch(() => {});
  if (fsync) await syncDirectory(dirname(directory));
}

async function unusedPath(wanted: string): Promise<string> {
  for (let n = 0; ; n++) {
    const path = n === 0 ? wanted : `${wanted}-${n}`;
    if ((await stat(path).catch(() => undefined)) === undefined) return path;
  }
}

export async function writeAll(handle: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    done += (await handle.write(bytes, done, bytes.length - done)).bytesWritten;
  }
}

function identityOf(stats: { readonly dev: number; readonly ino: number }): string {
  return `${stats.dev}:${stats.ino}`;
}

/** Flushes a directory, so that names of new and rotated files survive a power loss. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, "r").catch(ignoreUnsupported);
  await directory?.sync().catch(ignoreUnsupported);
  await directory?.close();
}

/** Systems on which directories cannot be flushed do not need it. */
function ignoreUnsupported(error: NodeJS.ErrnoException): undefined {
  if (error.code === undefined || !/^(EPERM|EACCES|EISDIR|EINVAL|ENOTSUP|ENOSYS)$/.test(error.code)) throw error;
}
