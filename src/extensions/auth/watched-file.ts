import { readFile, stat } from "node:fs/promises";
import { type Clock, type Logger, StartError } from "../../plugin.js";

const CHECK_MS = 5000;

interface WatchedFileServices {
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * A credentials file that is read at the start, and again within a few seconds when it has changed. If it cannot be
 * read, or `use` throws, the previous content stays in force. Nothing of its content is logged.
 *
 * A file that has become empty may be one that is being written. So it counts only if it is still empty at the next check.
 */
export class WatchedFile {
  private readonly path: string;
  private readonly use: (text: string) => void;
  private readonly services: WatchedFileServices;
  private seen = "";
  private seenEmpty = "";
  private fault = "";
  private stopped = false;
  private cancel = () => {};

  constructor(path: string, services: WatchedFileServices, use: (text: string) => void) {
    this.path = path;
    this.services = services;
    this.use = use;
  }

  /** Throws a `StartError` for the config key that names the file, if it cannot be used. */
  async start(key: readonly string[]): Promise<void> {
    try {
      await this.read();
    } catch (error) {
      const why = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
      throw new StartError(`${this.path} cannot be used: ${why}`, key, { cause: error });
    }
    this.schedule();
  }

  stop(): void {
    this.stopped = true;
    this.cancel();
  }

  private schedule(): void {
    if (!this.stopped) this.cancel = this.services.clock.after(CHECK_MS, () => void this.check());
  }

  private async check(): Promise<void> {
    try {
      await this.read();
      this.fault = "";
    } catch (error) {
      this.warn((error as Error).message);
    }
    this.schedule();
  }

  private warn(reason: string): void {
    if (reason === this.fault) return;
    this.fault = reason;
    this.services.logger.warn(
      { file: this.path, reason },
      "the file cannot be used; its previous content stays in force",
    );
  }

  private async read(): Promise<void> {
    const { mtimeMs, size, ino } = await stat(this.path);
    const state = `${mtimeMs} ${size} ${ino}`;
    if (state === this.seen) return;
    const text = await readFile(this.path, "utf8");
    if (this.stopped) return;
    if (text.trim() === "" && this.seen !== "" && state !== this.seenEmpty) {
      this.seenEmpty = state;
      throw new Error("it is empty; if it is still empty at the next check, its credentials are revoked");
    }
    this.use(text);
    this.seen = state;
  }
}
