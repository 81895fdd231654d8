import type { LogOutput } from "./logger.js";

/** Limit for unwritten log lines, in bytes. */
const MAX_WAITING = 1024 * 1024;
const FLUSH_MS = 500;

type LogWritable = NodeJS.WritableStream & { readonly writableLength?: number; readonly destroyed?: boolean };

/** Streams that have an error handler. Each gets one, however many agents log to it. */
const streamsWithHandler = new WeakSet<NodeJS.WritableStream>();

/**
 * Writes log lines to a stream that may be slow or broken, such as a pipe without a reader. Lines are dropped and
 * counted instead of waiting, and errors of the stream are ignored: the agent matters more than its log.
 */
export class LogStream implements LogOutput {
  private readonly stream: LogWritable;
  private readonly onDropped: (lines: number) => void;
  private dropped = 0;

  /** `onDropped` is called with the number of dropped lines once the stream accepts lines again. */
  constructor(stream: NodeJS.WritableStream, onDropped: (lines: number) => void) {
    this.stream = stream;
    this.onDropped = onDropped;
    if (streamsWithHandler.has(stream)) return;
    streamsWithHandler.add(stream);
    stream.on("error", () => {});
  }

  write(text: string): void {
    if ((this.stream.writableLength ?? 0) > MAX_WAITING) {
      this.dropped++;
      return;
    }
    const { dropped } = this;
    this.dropped = 0;
    if (dropped > 0) this.onDropped(dropped);
    if (this.stream.writable && !this.stream.destroyed) this.stream.write(text);
  }

  /** Resolves when everything is written, or after half a second. */
  flush(): Promise<void> {
    if (!this.stream.writable || (this.stream.writableLength ?? 0) === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, FLUSH_MS);
      this.stream.write("", () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
}
