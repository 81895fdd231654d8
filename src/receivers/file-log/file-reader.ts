import type { CutState, RecordCutter, RecordSink } from "#logs/entries";
import type { ReceiverContext } from "../../plugin.js";
import { type FileContent, GzipContent, PlainContent } from "./content.js";
import type { FileTable } from "./file-table.js";
import type { Outbox } from "./outbox.js";
import type { TrackedFile } from "./tracked-file.js";

/** Where records go: written as they are, or through operators. */
export interface RecordOutput extends RecordSink {
  /** The records that follow are of this file; `ms` is the time. */
  beginFile(file: TrackedFile, ms: number): void;
  /** The window of the file is cut: what operators still hold of it is told. */
  endWindow(outbox: Outbox): void;
  /** Room to read into, of at least this size. */
  window(size: number): Buffer;
  readonly byteLength: number;
  /** Passes on what was held back for long enough; `ms` is the time. */
  flushOld(outbox: Outbox, ms: number): void;
  /** Hands in all that was written. */
  send(outbox: Outbox): Promise<void>;
}

interface FileReaderServices {
  readonly table: FileTable;
  readonly outbox: Outbox;
  readonly output: RecordOutput;
  readonly cutter: RecordCutter;
  readonly context: ReceiverContext;
  readonly onProblem: (path: string, error: unknown) => void;
}

/** Reads files to their ends, window by window, and hands in what is in them. */
export class FileReader {
  private readonly services: FileReaderServices;
  private readonly flushPeriodMs: number;
  private windowSize = WINDOW_SIZE;
  isStopping = false;

  constructor(flushPeriodMs: number, services: FileReaderServices) {
    this.flushPeriodMs = flushPeriodMs;
    this.services = services;
  }

  /** True when it has not come to the end of the file, so that others have their turn. */
  async read(file: TrackedFile): Promise<boolean> {
    const { clock } = this.services.context;
    const isIdle = this.flushPeriodMs > 0 && clock.monotonic() - file.grownAt >= this.flushPeriodMs;
    if (file.size === file.readSize && !(isIdle && file.hasRest)) return false;
    if (!file.isGzip && file.size <= file.position.offset) return false;
    const handle = await this.services.table.open(file);
    if (handle === undefined) return false;
    const content = file.isGzip ? new GzipContent(handle) : new PlainContent(handle);
    try {
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

  private async readContent(file: TrackedFile, content: FileContent, isIdle: boolean): Promise<boolean> {
    const { table, output, outbox, cutter, context } = this.services;
    for (let turn = MAX_TURN_BYTES; turn > 0 && !this.isStopping; ) {
      const { offset, records, isSkipping } = file.position;
      const window = output.window(this.windowSize);
      const size = await content.read(window, window.length, offset);
      if (!(await table.isStill(file))) return false; // the next look finds out where its content is
      const isEnd = size < window.length;
      const state: CutState = { offset, records, isSkipping };
      output.beginFile(file, context.clock.now());
      const done = cutter.cut(window.subarray(0, size), state, isEnd && isIdle, output);
      if (done > 0) {
        outbox.note(file);
        file.position = { offset: offset + done, records: state.records, isSkipping: state.isSkipping };
      }
      output.endWindow(outbox);
      file.hasRest = done < size;
      turn -= done;
      if (output.byteLength >= BATCH_SIZE) await output.send(outbox);
      if (isEnd) return false;
      this.windowSize = done > 0 ? WINDOW_SIZE : Math.max(WINDOW_SIZE, cutter.minWindow);
    }
    return true;
  }
}

const WINDOW_SIZE = 1024 * 1024;
/** A batch is handed in when it has this size; those of many small files are one. */
const BATCH_SIZE = 1024 * 1024;
/** So much is read of one file before the next has its turn. */
const MAX_TURN_BYTES = 16 * 1024 * 1024;
