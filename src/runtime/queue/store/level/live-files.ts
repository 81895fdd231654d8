import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { LOG_FILE } from "../leveldb-files/data-files.js";

/**
 * Notices if files of an open store are removed or replaced. LevelDB keeps them open, so it would go on writing to
 * files that nobody can find later. The current log is checked before and after every write, which takes a few
 * microseconds. CURRENT is checked now and then: without it, a store is rebuilt from its other files, so nothing is
 * lost.
 */
export class LiveFiles {
  private readonly directory: string;
  private log: LogFile | undefined;

  constructor(directory: string) {
    this.directory = directory;
  }

  /** To be called when the database has been opened. */
  begin(): void {
    this.log = this.newestLog();
  }

  /** To be called before the database is closed. Files are not checked until it has been opened again. */
  end(): void {
    this.log = undefined;
  }

  /** Whether the log still exists. */
  logExists(): boolean {
    return this.log === undefined || this.logNow(this.log) !== undefined;
  }

  /** Whether all files still exist. */
  exist(): boolean {
    return this.log === undefined || (this.hasCurrent() && this.logExists());
  }

  /** Like `logExists`, but to be called after a write. Also checks that the log has grown or a new one has begun. */
  logHasGrown(): boolean {
    const { log } = this;
    if (log === undefined) return true;
    const same = this.logNow(log);
    const isLonger = same !== undefined && (same.number > log.number || same.size > log.size);
    const now = isLonger ? same : this.logAfter(log);
    this.log = now ?? log;
    return now !== undefined;
  }

  private hasCurrent(): boolean {
    return statSync(join(this.directory, "CURRENT"), NO_ERROR) !== undefined;
  }

  /** Returns the current state of the log, or of its successor; undefined if it was removed or replaced. */
  private logNow(log: LogFile): LogFile | undefined {
    const now = readLog(log.path, log.number);
    return now?.inode === log.inode ? now : this.logAfter(log);
  }

  private logAfter({ number }: LogFile): LogFile | undefined {
    const newest = this.newestLog();
    return newest !== undefined && newest.number > number ? newest : undefined;
  }

  private newestLog(): LogFile | undefined {
    const numbers = namesIn(this.directory).flatMap((name) => LOG_FILE.exec(name)?.[1] ?? []);
    if (numbers.length === 0) return undefined;
    const newest = Math.max(...numbers.map(Number));
    return readLog(join(this.directory, `${String(newest).padStart(6, "0")}.log`), newest);
  }
}

interface LogFile {
  readonly path: string;
  readonly number: number;
  readonly inode: number;
  readonly size: number;
}

function readLog(path: string, number: number): LogFile | undefined {
  const file = statSync(path, NO_ERROR);
  return file && { path, number, inode: file.ino, size: file.size };
}

const NO_ERROR = { throwIfNoEntry: false } as const;

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
