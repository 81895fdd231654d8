import { type FileHandle, open } from "node:fs/promises";
import { inodeKey, type TrackedFile } from "./tracked-file.js";

export interface OpenFilesServices {
  readonly maxOpenFiles: number;
  readonly onProblem: (path: string, error: unknown) => void;
  /** Rejects if a file that was just opened must not be read. */
  readonly checkOpened: (path: string, handle: FileHandle) => Promise<void>;
}

/**
 * The handles of tracked files. If too many are open, those that were not used for longest are closed; a file that is
 * no longer at its path keeps its handle, because it could not be opened again.
 */
export class OpenFiles {
  private readonly services: OpenFilesServices;
  /** Files with an open handle, least recently used first. */
  private readonly opened = new Set<TrackedFile>();

  constructor(services: OpenFilesServices) {
    this.services = services;
  }

  get count(): number {
    return this.opened.size;
  }

  /** Returns a handle on the file's content, or undefined if the file is no longer at its path. */
  async open(file: TrackedFile): Promise<FileHandle | undefined> {
    if (file.handle !== undefined) {
      this.opened.delete(file);
      this.opened.add(file);
      return file.handle;
    }
    const handle = await this.openPath(file.path);
    if (handle === undefined) return undefined;
    const stats = await handle.stat();
    if (inodeKey(stats) === file.key) this.attach(file, handle);
    else await handle.close();
    return file.handle;
  }

  /** Makes the handle the one of the file. */
  attach(file: TrackedFile, handle: FileHandle): void {
    file.handle = handle;
    this.opened.delete(file);
    this.opened.add(file);
    for (const oldest of this.opened) {
      if (this.opened.size <= this.services.maxOpenFiles) break;
      if (oldest !== file && !oldest.isFollowed) void this.close(oldest);
      else if (oldest === file) break;
    }
  }

  /** Returns undefined if the file does not exist or must not be read. */
  async openPath(path: string): Promise<FileHandle | undefined> {
    let handle: FileHandle | undefined;
    try {
      handle = await open(path, "r");
      await this.services.checkOpened(path, handle);
      return handle;
    } catch (error) {
      await handle?.close();
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") this.services.onProblem(path, error);
      return undefined;
    }
  }

  async closeAll(): Promise<void> {
    for (const file of [...this.opened]) await this.close(file);
  }

  async close(file: TrackedFile): Promise<void> {
    this.opened.delete(file);
    await file.close();
  }
}
