import { type FileHandle, open, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import type { Clock, Logger } from "#contract";
import { limitedLog } from "#contract";
import { StartError } from "#contract/errors";
import { makePrivate, makePrivateDirectory, PRIVATE_FILE_MODE } from "#system";

/** An accepted key and its time, in milliseconds since the epoch. */
export type RememberedKey = readonly [key: string, at: number];

interface KeyLogServices {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** How long written keys may stay in the system's cache before they are synced to disk. */
const SYNC_INTERVAL_MS = 1000;

/**
 * Accepted keys of a receiver, kept on disk for the next start.
 *
 * - Keys for which `append` has resolved survive a crash of the process; a power loss may cost those of the last
 *   second. A forgotten key can cause a duplicate but loses nothing, so disk errors are only logged.
 * - Keys that arrive during a write are written together by the next one, so there is no system call per request.
 * - Bounded: there are two files with up to `maxKeys` each. A full file replaces the older one.
 * - Each key begins a line, so that a key torn by a crash damages no other.
 */
export class KeyLog {
  private readonly path: string;
  private readonly maxKeys: number;
  private readonly clock: Clock;
  private readonly logFailure: (error: unknown) => void;
  private file: FileHandle | undefined;
  private keysInFile = 0;
  private syncedAt = 0;
  private gathered: RememberedKey[] = [];
  private lastWrite: Promise<void> = Promise.resolve();
  private nextWrite: Promise<void> | undefined;

  constructor(directory: string, receiver: string, maxKeys: number, { clock, logger }: KeyLogServices) {
    this.path = join(directory, `${encodeURIComponent(receiver)}.keys`);
    this.maxKeys = maxKeys;
    this.clock = clock;
    this.logFailure = limitedLog(clock, (error, suppressed) =>
      logger.error({ err: error, suppressed }, "the keys of dedup cannot be stored; they are lost at a restart"),
    );
  }

  /** The remembered keys, oldest first. Throws a `StartError` when the directory cannot be used. */
  async open(): Promise<RememberedKey[]> {
    try {
      await makePrivateDirectory(join(this.path, ".."));
      for (const path of [this.path, `${this.path}.old`]) await makePrivate(path);
      const [older, newer] = [await readKeys(`${this.path}.old`), await readKeys(this.path)];
      this.file = await open(this.path, "a", PRIVATE_FILE_MODE);
      this.keysInFile = newer.length;
      return [...older, ...newer];
    } catch (error) {
      const why = (error as NodeJS.ErrnoException).code ?? String(error);
      throw new StartError(`the keys of dedup cannot be kept in ${this.path} (${why})`, ["dedup", "directory"], {
        cause: error,
      });
    }
  }

  /** Resolves when the keys are written, or writing them has failed. */
  append(keys: readonly RememberedKey[]): Promise<void> {
    this.gathered.push(...keys);
    this.nextWrite ??= this.lastWrite.then(() => this.write());
    return this.nextWrite;
  }

  async close(): Promise<void> {
    await (this.nextWrite ?? this.lastWrite);
    await this.file?.datasync().catch(() => {});
    await this.file?.close();
    this.file = undefined;
  }

  private async write(): Promise<void> {
    const keys = this.gathered;
    this.gathered = [];
    this.lastWrite = this.nextWrite!;
    this.nextWrite = undefined;
    try {
      await this.file?.appendFile(keys.map((key) => `\n${JSON.stringify(key)}`).join(""));
      this.keysInFile += keys.length;
      if (this.file !== undefined && this.keysInFile >= this.maxKeys) await this.startNextFile();
      this.syncIfDue();
    } catch (error) {
      this.logFailure(error);
    }
  }

  private async startNextFile(): Promise<void> {
    const full = this.file;
    await rename(this.path, `${this.path}.old`);
    this.file = await open(this.path, "a", PRIVATE_FILE_MODE);
    this.keysInFile = 0;
    await full?.close();
  }

  /** Starts a sync without waiting for it. */
  private syncIfDue(): void {
    const now = this.clock.monotonic();
    if (now - this.syncedAt < SYNC_INTERVAL_MS) return;
    this.syncedAt = now;
    this.file?.datasync().catch(this.logFailure);
  }
}

/** The readable keys of a file; none if it does not exist. */
async function readKeys(path: string): Promise<RememberedKey[]> {
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return "";
    throw error;
  });
  return text.split("\n").flatMap(parseKey);
}

function parseKey(line: string): RememberedKey[] {
  try {
    const [key, at] = JSON.parse(line) as [unknown, unknown];
    return typeof key === "string" && typeof at === "number" ? [[key, at]] : [];
  } catch {
    return [];
  }
}
