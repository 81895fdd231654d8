import type { Stats } from "node:fs";
import { type FileHandle, readdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type FileCompression, isGzipFile, readHead } from "./content.js";
import type { FileMark, OffsetStore } from "./offset-store.js";
import { OpenFiles, type OpenFilesServices } from "./open-files.js";
import { inodeKey, START, TrackedFile } from "./tracked-file.js";

/** A path that matches a pattern, with the file's stats. */
export interface FoundFile {
  readonly path: string;
  readonly stats: Stats;
}

interface FileTableServices extends Omit<OpenFilesServices, "maxOpenFiles"> {
  readonly store: OffsetStore;
  readonly now: () => number;
  readonly onTruncated: (file: TrackedFile, message: string) => void;
}

interface FileTableSettings {
  readonly fingerprintSize: number;
  readonly maxOpenFiles: number;
  readonly compression: FileCompression;
  readonly onTruncate: "ignore" | "read_whole_file" | "read_new";
}

/**
 * The known files, identified by inode and content rather than by name.
 *
 * A file stays the same file while its inode and its first bytes stay the same. A moved file is found by its inode in
 * its old folder, even if its new name matches no pattern. If a file was copied and then truncated, the copy is found
 * by its first bytes and reading continues in the copy. While original and copy have the same content, the copy is not
 * read. Any other file is new.
 */
export class FileTable {
  readonly files = new Set<TrackedFile>();
  readonly openFiles: OpenFiles;
  private readonly settings: FileTableSettings;
  private readonly services: FileTableServices;
  private readonly byInode = new Map<string, TrackedFile>();
  /** Copies of files that still exist, keyed by the copy's inode, with the copy's stats when it was recognised. */
  private readonly copies = new Map<string, { readonly of: TrackedFile; readonly stats: Stats }>();
  private round = 0;

  constructor(settings: FileTableSettings, services: FileTableServices) {
    this.settings = settings;
    this.services = services;
    this.openFiles = new OpenFiles({ ...services, maxOpenFiles: settings.maxOpenFiles });
  }

  add(file: TrackedFile): void {
    this.files.add(file);
    this.byInode.set(file.key, file);
    this.services.store.keep(file);
  }

  /**
   * Identifies the found files. `startOf` says where to start reading a new file. Returns the files that may have
   * something to read.
   */
  async look(found: readonly FoundFile[], startOf: (found: FoundFile) => FileMark): Promise<TrackedFile[]> {
    this.round++;
    const unrecognised: FoundFile[] = [];
    const seen = new Set<string>();
    for (const each of found) {
      const key = inodeKey(each.stats);
      if (seen.has(key)) continue; // another name of the same file
      seen.add(key);
      if (!(await this.recognise(each))) unrecognised.push(each);
    }
    for (const file of this.files) if (file.lastSeenRound !== this.round) await this.follow(file);
    for (const candidate of unrecognised) await this.identify(candidate, startOf);
    for (const key of this.copies.keys()) if (!seen.has(key)) this.copies.delete(key);
    return [...this.files].filter((file) => file.lastSeenRound === this.round || file.isFollowed);
  }

  /**
   * Whether the data just read through the file's handle belongs to this file: the file may have been truncated since
   * the last look.
   */
  async isStillSameFile(file: TrackedFile): Promise<boolean> {
    return file.isGzip || (file.handle !== undefined && (await this.checkHead(file)));
  }

  /** Forgets files that have not been seen for a long time. */
  async forgetOld(maxAgeMs: number, maxGone: number): Promise<void> {
    const now = this.services.now();
    const gone = [...this.files].filter(
      (file) => file.lastSeenRound !== this.round && !file.isFollowed && file.isSettled,
    );
    gone.sort((a, b) => a.seenAt - b.seenAt);
    for (const [index, file] of gone.entries()) {
      if (now - file.seenAt < maxAgeMs && gone.length - index <= maxGone) break;
      await this.openFiles.close(file);
      this.files.delete(file);
      if (this.byInode.get(file.key) === file) this.byInode.delete(file.key);
      this.services.store.forget(file);
    }
  }

  /** Recognises a known file by its inode and, if the file has changed, by its first bytes. */
  private async recognise({ path, stats }: FoundFile): Promise<boolean> {
    const file = this.byInode.get(inodeKey(stats));
    if (file === undefined) return false;
    const isUnchanged = file.size === stats.size && file.mtimeMs === stats.mtimeMs;
    if (!isUnchanged && !(await this.hasSameContent(file, path))) {
      await this.forgetInode(file);
      return false;
    }
    this.markSeen(file, path, stats);
    return true;
  }

  private markSeen(file: TrackedFile, path: string, stats: Stats): void {
    const now = this.services.now();
    if (file.path !== path || file.dev !== stats.dev || file.ino !== stats.ino) {
      this.byInode.delete(file.key);
      file.path = path;
      file.dev = stats.dev;
      file.ino = stats.ino;
      this.byInode.set(file.key, file);
      this.services.store.keep(file);
    }
    if (stats.size !== file.size) file.lastGrowthAt = now;
    file.size = stats.size;
    file.mtimeMs = stats.mtimeMs;
    file.seenAt = now;
    file.lastSeenRound = this.round;
    file.isFollowed = false;
    file.wasSearched = false;
    if (!file.isGzip && stats.size < file.position.offset) this.handleTruncation(file, stats.size);
  }

  /** Called when a file got shorter but still has the same first bytes. */
  private handleTruncation(file: TrackedFile, size: number): void {
    const { onTruncate } = this.settings;
    this.services.onTruncated(file, onTruncate);
    if (onTruncate === "ignore") return;
    file.restart(onTruncate === "read_new" ? { ...file.position, offset: size } : START);
    this.services.store.markMoved(file);
  }

  /** Whether the file still begins with its fingerprint. If so, a fingerprint that is not full yet is extended. */
  private async hasSameContent(file: TrackedFile, path: string): Promise<boolean> {
    if (file.handle === undefined) {
      const handle = await this.openFiles.openPath(path);
      if (handle === undefined) return false;
      if (inodeKey(await handle.stat()) !== file.key) {
        await handle.close();
        return false;
      }
      this.openFiles.attach(file, handle);
    }
    return this.checkHead(file);
  }

  private async checkHead(file: TrackedFile): Promise<boolean> {
    const { fingerprint } = file;
    const { fingerprintSize } = this.settings;
    try {
      file.isGzip = await isGzipFile(file.handle!, file.path, this.settings.compression);
      const head = await readHead(file.handle!, Math.max(fingerprintSize, fingerprint.length), file.isGzip);
      if (!startsWith(head, fingerprint)) return false;
      if (head.length > fingerprint.length && fingerprint.length < fingerprintSize) {
        file.fingerprint = Buffer.from(head.subarray(0, fingerprintSize));
        this.services.store.keep(file);
      }
      return true;
    } catch (error) {
      this.services.onProblem(file.path, error);
      return false;
    }
  }

  /** The file's content is no longer behind its inode. */
  private async forgetInode(file: TrackedFile): Promise<void> {
    await this.openFiles.close(file);
    if (this.byInode.get(file.key) === file) this.byInode.delete(file.key);
    file.ino = 0;
    file.size = -1;
    this.services.store.keep(file);
  }

  /** Handles a known file that no pattern finds any more: it is read on at its new place for as long as it grows. */
  private async follow(file: TrackedFile): Promise<void> {
    if (file.handle !== undefined) {
      if (await this.followHandle(file)) return;
      await this.forgetInode(file);
    }
    if (file.isFollowed) {
      file.isFollowed = false;
      return;
    }
    if (file.wasSearched) return;
    file.wasSearched = true;
    const handle = await this.search(file);
    if (handle === undefined) return;
    const stats = await handle.stat();
    if (this.byInode.get(file.key) === file) this.byInode.delete(file.key);
    file.dev = stats.dev;
    file.ino = stats.ino;
    this.byInode.set(file.key, file);
    this.services.store.keep(file);
    this.openFiles.attach(file, handle);
    await this.followHandle(file);
  }

  private async followHandle(file: TrackedFile): Promise<boolean> {
    const { now } = this.services;
    const stats = await file.handle!.stat();
    const hasGrown = stats.size !== file.size;
    if (hasGrown && !(await this.checkHead(file))) return false;
    if (!file.isFollowed || hasGrown) file.lastGrowthAt = now();
    file.size = stats.size;
    file.mtimeMs = stats.mtimeMs;
    file.seenAt = now();
    file.isFollowed = true;
    file.wasSearched = true;
    if (now() - file.lastGrowthAt > ROTATED_IDLE_MS) await this.openFiles.close(file);
    return true;
  }

  /**
   * Searches the file's folder for its inode, then for the newest file that has the same first bytes and is long
   * enough.
   */
  private async search(file: TrackedFile): Promise<FileHandle | undefined> {
    if (file.fingerprint.length === 0) return undefined;
    const folder = dirname(file.path);
    const names = await readdir(folder).catch(() => []);
    const candidates: FoundFile[] = [];
    for (const name of names.slice(0, MAX_SEARCHED)) {
      const path = join(folder, name);
      const stats = await stat(path).catch(() => undefined);
      if (stats === undefined || !stats.isFile() || stats.size === 0) continue;
      const key = inodeKey(stats);
      const isTaken = this.byInode.has(key) && this.byInode.get(key) !== file;
      if (!isTaken && !this.copies.has(key)) candidates.push({ path, stats });
    }
    const rank = ({ stats }: FoundFile) => (inodeKey(stats) === file.key ? Number.POSITIVE_INFINITY : stats.mtimeMs);
    candidates.sort((a, b) => rank(b) - rank(a));
    for (const { path, stats } of candidates) {
      const isSame = inodeKey(stats) === file.key;
      if (!isSame && (path === file.path || stats.mtimeMs < file.mtimeMs - CLOCK_SLACK_MS)) continue;
      const handle = await this.openFiles.openPath(path);
      if (handle === undefined) continue;
      if (await this.isContentOf(file, handle, path)) return handle;
      await handle.close();
    }
    return undefined;
  }

  private async isContentOf(file: TrackedFile, handle: FileHandle, path: string): Promise<boolean> {
    try {
      const isGzip = await isGzipFile(handle, path, "auto");
      const { size } = await handle.stat();
      if (!isGzip && size < file.position.offset) return false;
      const head = await readHead(handle, file.fingerprint.length, isGzip);
      if (!startsWith(head, file.fingerprint)) return false;
      file.isGzip = isGzip;
      return true;
    } catch {
      return false;
    }
  }

  /**
   * Decides what a file with an unknown inode is: a copy of an existing file, the copy of a file that is gone, or a new
   * file.
   */
  private async identify(found: FoundFile, startOf: (found: FoundFile) => FileMark): Promise<void> {
    const { path, stats } = found;
    const copy = this.copies.get(inodeKey(stats));
    if (copy !== undefined && isAlive(copy.of, this.round) && isSame(copy.stats, stats)) return;
    this.copies.delete(inodeKey(stats));
    if (stats.size === 0) return;
    const handle = await this.openFiles.openPath(path);
    if (handle === undefined) return;
    try {
      const now = await handle.stat();
      const isGzip = await isGzipFile(handle, path, this.settings.compression);
      const head = await readHead(handle, this.settings.fingerprintSize, isGzip);
      if (head.length === 0 || this.byInode.has(inodeKey(now))) return await handle.close();
      const original = this.originalOf(head, path, now, isGzip);
      if (original !== undefined && isAlive(original, this.round)) {
        if (isGzip || (await this.isCopy(handle, now, original, path))) {
          this.copies.set(inodeKey(now), { of: original, stats: now });
          return await handle.close();
        }
      }
      const isMoved = original !== undefined && !isAlive(original, this.round);
      const file = isMoved
        ? original
        : new TrackedFile({ path, dev: now.dev, ino: now.ino, fingerprint: head, mark: startOf({ path, stats: now }) });
      if (isMoved) {
        await this.openFiles.close(file);
        file.ino = 0;
      } else this.add(file);
      file.isGzip = isGzip;
      this.markSeen(file, path, now);
      this.openFiles.attach(file, handle);
    } catch (error) {
      await handle.close().catch(() => {});
      this.services.onProblem(path, error);
    }
  }

  /** Returns the file that this one may be a copy of: the one with the longest matching fingerprint. */
  private originalOf(head: Buffer, path: string, stats: Stats, isGzip: boolean): TrackedFile | undefined {
    let best: TrackedFile | undefined;
    for (const file of this.files) {
      const { fingerprint, position } = file;
      if (fingerprint.length <= (best?.fingerprint.length ?? 0) || !startsWith(head, fingerprint)) continue;
      if (isAlive(file, this.round)) {
        if (isGzip || fingerprint.length === head.length) best = file;
        continue;
      }
      // A short fingerprint may match by chance, so only files in the same folder count as copies.
      const isShort = fingerprint.length < this.settings.fingerprintSize;
      if (isShort && (path === file.path || dirname(path) !== dirname(file.path))) continue;
      if (isGzip || stats.size >= position.offset) best = file;
    }
    return best;
  }

  /**
   * Whether two existing files have the same content up to the length of the shorter one. Only the last bytes are
   * compared.
   */
  private async isCopy(handle: FileHandle, stats: Stats, file: TrackedFile, path: string): Promise<boolean> {
    const isShort = file.fingerprint.length < this.settings.fingerprintSize;
    if (isShort && dirname(path) !== dirname(file.path)) return false;
    if (file.isGzip) return true;
    const other = await this.openFiles.open(file);
    if (other === undefined) return false;
    const common = Math.min(stats.size, (await other.stat()).size);
    const size = Math.min(COMPARED_BYTES, common);
    const [one, two] = [Buffer.alloc(size), Buffer.alloc(size)];
    await handle.read(one, 0, size, common - size);
    await other.read(two, 0, size, common - size);
    return one.equals(two);
  }
}

/** A file that was moved to a name without a pattern is closed once it has not grown for this long. */
const ROTATED_IDLE_MS = 30_000;
const MAX_SEARCHED = 5000;
const COMPARED_BYTES = 1000;
/** A copy is never older than its original; the slack allows for differing clocks. */
const CLOCK_SLACK_MS = 2000;

function startsWith(bytes: Buffer, start: Buffer): boolean {
  const { length } = start;
  return bytes.length >= length && bytes.compare(start, 0, length, 0, length) === 0;
}

function isAlive(file: TrackedFile, round: number): boolean {
  return file.lastSeenRound === round || file.isFollowed;
}

function isSame(one: Stats, other: Stats): boolean {
  return one.size === other.size && one.mtimeMs === other.mtimeMs;
}
