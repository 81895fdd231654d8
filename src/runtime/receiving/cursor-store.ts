import { open, readFile, rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import { crc32c } from "#codecs";
import { limitedLog, type ReceiverContext } from "#contract";
import { StartError } from "#contract/errors";
import { pause } from "#resilience";
import { makePrivateDirectory, PRIVATE_FILE_MODE } from "#system";

/**
 * Cursors of a receiver's sources, in one small file that is replaced as a whole: after a crash it has the cursors of
 * before or those of after. Set a cursor only when everything before it is safe.
 */
export class CursorStore {
  private readonly path: string;
  private readonly context: ReceiverContext;
  private readonly logFailure: (error: unknown) => void;
  private cursors = new Map<string, string>();
  private isBehind = false;
  private writing: Promise<void> | undefined;
  private readonly closing = new AbortController();

  constructor(directory: string, context: ReceiverContext) {
    const name = context.id.replace(/[^\w.-]/g, (char) => `%${char.charCodeAt(0).toString(16)}`);
    this.path = join(directory, `${name}.cursors`);
    this.context = context;
    this.logFailure = limitedLog(context.clock, (error, suppressed) =>
      context.logger.error(
        { path: this.path, reason: (error as Error).message, suppressed },
        "the position could not be stored; after a restart, records read since then are read again",
      ),
    );
  }

  /** Throws a `StartError` at `key` if the directory cannot be used. */
  async load(key: string): Promise<void> {
    try {
      await makePrivateDirectory(dirname(this.path));
      this.cursors = this.parse(await readFile(this.path));
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === "ENOENT") return;
      throw new StartError(`the position cannot be kept: ${message}`, [key], { cause: error });
    }
  }

  get(name: string): string | undefined {
    return this.cursors.get(name);
  }

  /** Undefined forgets the cursor. The file is written soon. */
  set(name: string, cursor: string | undefined): void {
    if (this.cursors.get(name) === cursor) return;
    if (cursor === undefined) this.cursors.delete(name);
    else this.cursors.set(name, cursor);
    this.isBehind = true;
    this.writing ??= this.writeAll().finally(() => {
      this.writing = undefined;
    });
  }

  /** Resolves when all cursors have been written, or have failed to be written. */
  async close(): Promise<void> {
    this.closing.abort();
    await this.writing;
  }

  private async writeAll(): Promise<void> {
    await Promise.resolve(); // cursors that are set in the same tick share one write
    while (this.isBehind) {
      this.isBehind = false;
      try {
        await this.write();
      } catch (error) {
        this.logFailure(error);
      }
      await pause(PAUSE_MS, this.context.clock, this.closing.signal);
    }
  }

  private async write(): Promise<void> {
    const json = JSON.stringify(Object.fromEntries(this.cursors));
    await makePrivateDirectory(dirname(this.path));
    const handle = await open(`${this.path}.new`, "w", PRIVATE_FILE_MODE);
    try {
      await handle.write(`${checksum(json)} ${json}\n`);
      await handle.datasync();
    } finally {
      await handle.close();
    }
    await rename(`${this.path}.new`, this.path);
  }

  private parse(bytes: Buffer): Map<string, string> {
    const text = bytes.toString("utf8").trimEnd();
    const json = text.slice(9);
    if (text.slice(0, 8) === checksum(json)) return new Map(Object.entries(JSON.parse(json) as Record<string, string>));
    this.context.logger.error({ path: this.path }, "the file with the position is damaged; reading starts over");
    return new Map();
  }
}

/** Each write waits for the disk, which queues need too. */
const PAUSE_MS = 200;

function checksum(text: string): string {
  return (crc32c(Buffer.from(text)) >>> 0).toString(16).padStart(8, "0");
}
