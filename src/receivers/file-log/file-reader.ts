import type { CutState, RecordCutter, RecordSink } from "#logs/entries";
import { turns } from "#work";
import type { ReceiverContext } from "../../plugin.js";
import type { BatchSender } from "./batch-sender.js";
import { type FileContent, GzipContent, PlainContent } from "./content.js";
import type { FileHeader } from "./file-header.js";
import type { FileTable } from "./file-table.js";
import { START, type TrackedFile } from "./tracked-file.js";

/** Writes records directly or passes them through operators. */
export interface RecordOutput extends RecordSink {
  /** The records that follow come from this file. `ms` is the current time. */
  beginFile(file: TrackedFile, ms: number): void;
  /** Called when all records of a window have been taken. Reports the file positions that operators still hold. */
  endWindow(sender: BatchSender): void;
  /** Returns a buffer of at least this size to read into. */
  window(size: number): Buffer;
  readonly byteLength: number;
  /** Passes on entries that operators have held for long enough. `ms` is the current time. */
  flushOld(sender: BatchSender, ms: number): void;
  /** Hands in everything that has been written. */
  send(sender: BatchSender): Promise<void>;
}

interface FileReaderServices {
  readonly table: FileTable;
  readonly sender: BatchSender;
  readonly output: RecordOutput;
  readonly cutter: RecordCutter;
  readonly header: FileHeader | undefined;
  /** Makes the attributes of a file's records. */
  readonly describe: (file: TrackedFile) => Promise<void>;
  readonly context: ReceiverContext;
  readonly onProblem: (path: string, error: unknown) => void;
}

/** Reads files to their ends, one window at a time, and hands in their records. */
export class FileReader {
  private readonly services: FileReaderServices;
  private readonly flushPeriodMs: number;
  private windowSize = WINDOW_SIZE;
  isStopping = false;

  constructor(flushPeriodMs: number, services: FileReaderServices) {
    this.flushPeriodMs = flushPeriodMs;
    this.services = services;
  }

  /** Returns true if the file has more to read: it stopped early to give other files a turn. */
  async read(file: TrackedFile): Promise<boolean> {
    const { clock } = this.services.context;
    const isIdle = this.flushPeriodMs > 0 && clock.monotonic() - file.lastGrowthAt >= this.flushPeriodMs;
    if (file.size === file.readSize && !(isIdle && file.hasPartialRecord)) return false;
    if (!file.isGzip && file.size <= file.position.offset) return false;
    const handle = await this.services.table.openFiles.open(file);
    if (handle === undefined) return false;
    const content = file.isGzip ? new GzipContent(handle) : new PlainContent(handle);
    try {
      if (!(await this.readHeader(file, content))) return false;
      const { size } = file;
      const hasMore = await this.readContent(file, content, isIdle);
      file.readSize = hasMore ? -1 : size;
      if (content instanceof GzipContent && content.problem !== undefined)
        this.services.onProblem(file.path, new Error(`not gzip, or damaged: ${content.problem}`));
      return hasMore;
    } finally {
      content.close();
    }
  }

  /** Returns false while the file ends inside of its header. */
  private async readHeader(file: TrackedFile, content: FileContent): Promise<boolean> {
    const { header, describe } = this.services;
    if (header === undefined || file.header !== undefined) return true;
    const found = await header.read(content);
    if (found === undefined) return false;
    file.header = found.attributes;
    if (file.position.offset < found.length) file.position = { ...START, offset: found.length };
    await describe(file);
    return true;
  }

  private async readContent(file: TrackedFile, content: FileContent, isIdle: boolean): Promise<boolean> {
    const { table, output, sender, cutter, context } = this.services;
    for (let turn = MAX_TURN_BYTES; turn > 0 && !this.isStopping; ) {
      if (!turns.hasTime) await turns.next();
      const { offset, records, isSkipping } = file.position;
      const window = output.window(this.windowSize);
      const size = await content.read(window, window.length, offset);
      if (!(await table.isStillSameFile(file))) return false; // the next look finds where the file's content is now
      const isEnd = size < window.length;
      const state: CutState = { offset, records, isSkipping };
      output.beginFile(file, context.clock.now());
      const done = cutter.cut(window.subarray(0, size), state, isEnd && isIdle, output);
      if (done > 0) {
        sender.note(file);
        file.position = { offset: offset + done, records: state.records, isSkipping: state.isSkipping };
      }
      output.endWindow(sender);
      file.hasPartialRecord = done < size;
      turn -= done;
      if (output.byteLength >= BATCH_SIZE) await output.send(sender);
      if (isEnd && !state.hasMore) return false;
      this.windowSize = done > 0 ? WINDOW_SIZE : Math.max(WINDOW_SIZE, cutter.minWindow);
    }
    return true;
  }
}

const WINDOW_SIZE = 1024 * 1024;
/** A batch is handed in at this size. Records of many small files share one batch. */
const BATCH_SIZE = 1024 * 1024;
/** The number of bytes read from one file before the next file gets its turn. */
const MAX_TURN_BYTES = 16 * 1024 * 1024;
