import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { LOG_FILE } from "../leveldb-files/inspect-directory.js";

/**
 * Notices when files of a store that is in use are taken away or replaced: LevelDB has them open, so it would write on
 * into files that nobody will ever find. The log that is written to is looked at after every write, which takes a few
 * microseconds.
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

  /** To be called before it is closed: nothing is missed until it has been opened again. */
  end(): void {
    this.log = undefined;
  }

  /** Whether the files are where they were. */
  areThere(): boolean {
    return this.log === undefined || (this.hasCurrent() && this.logNow(this.log) !== undefined);
  }

  /** The same after a write, and whether that is where it went: it has made the log longer, or begun a new one. */
  haveGrown(): boolean {
    const { log } = this;
    if (log === undefined) return true;
    const same = this.logNow(log);
    const isLonger = same !== undefined && (same.number > log.number || same.size > log.size);
    const now = isLonger ? same : this.logAfter(log);
    this.log = now ?? log;
    return now !== undefined && this.hasCurrent();
  }

  private hasCurrent(): boolean {
    return statSync(join(this.directory, "CURRENT"), NO_ERROR) !== undefined;
  }

  /** The log as it is now, or the one that has taken its place; undefined when it was taken away or replaced. */
  private logNow(log: LogFile): LogFile | undefined {
    const now = this.readLog(log.number);
    return now?.inode === log.inode ? now : this.logAfter(log);
  }

  private logAfter({ number }: LogFile): LogFile | undefined {
    const newest = this.newestLog();
    return newest !== undefined && newest.number > number ? newest : undefined;
  }

  private newestLog(): LogFile | undefined {
    const numbers = namesIn(this.directory).flatMap((name) => LOG_FILE.exec(name)?.[1] ?? []);
    return numbers.length === 0 ? undefined : this.readLog(Math.max(...numbers.map(Number)));
  }

  private readLog(number: number): LogFile | undefined {
    const file = statSync(join(this.directory, `${String(number).padStart(6, "0")}.log`), NO_ERROR);
    return file && { number, inode: file.ino, size: file.size };
  }
}

interface LogFile {
  readonly number: number;
  readonly inode: number;
  readonly size: number;
}

const NO_ERROR = { throwIfNoEntry: false } as const;

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
