import { ERROR_CODES } from "#contract/errors";
import { SliceTimer } from "#work";
import { Refusal } from "../../plugin.js";

/** Characters per write. A batch of any size needs no more memory than this. */
const CHUNK_LENGTH = 64 * 1024;

/** Streams that have an error handler. Their errors also reach us through the callback of the failed write. */
const streamsWithHandler = new WeakSet<NodeJS.WritableStream>();

/**
 * Writes lines to a stream as fast as it accepts them. Texts are printed one after the other, never mixed, and made
 * only when their turn comes. A failure becomes a transient refusal, because the data is not at fault.
 */
export class Printer {
  private readonly stream: NodeJS.WritableStream;
  private last: Promise<void> = Promise.resolve();
  /** Texts that are being printed or wait. The timer runs while there are any. */
  private unfinished = 0;
  private timer = new SliceTimer();

  constructor(stream: NodeJS.WritableStream) {
    this.stream = stream;
    if (!streamsWithHandler.has(stream)) stream.on("error", () => {});
    streamsWithHandler.add(stream);
  }

  /** Resolves when the stream has accepted every line. Bytes are whole lines; a text lacks its last line break. */
  print(makeLines: () => Iterable<string | Uint8Array>, abort: AbortSignal): Promise<void> {
    if (this.unfinished++ === 0) this.timer = new SliceTimer();
    const printed = this.last.then(() => this.writeLines(makeLines, abort));
    this.last = printed
      .catch(() => {})
      .finally(() => {
        this.unfinished--;
      });
    return rejectOnAbort(printed, abort);
  }

  private async writeLines(makeLines: () => Iterable<string | Uint8Array>, abort: AbortSignal): Promise<void> {
    let text = "";
    if (abort.aborted) return;
    for (const lines of makeLines()) {
      const isText = typeof lines === "string";
      if (isText) text += `${lines}\n`;
      if (isText && text.length < CHUNK_LENGTH) continue;
      if (text !== "") await this.write(text);
      text = "";
      if (abort.aborted) return;
      if (!isText) await this.write(lines);
      if (abort.aborted) return;
    }
    if (text !== "") await this.write(text);
  }

  /** A stream may accept everything at once, so other work gets its turn here. */
  private async write(text: string | Uint8Array): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.stream.write(text, (error) => (error ? reject(refusalOf(error)) : resolve()));
    });
    if (this.timer.isOver) await this.timer.nextSlice();
  }
}

function refusalOf(error: NodeJS.ErrnoException): Refusal {
  const status = error.code === undefined ? {} : { status: error.code };
  return new Refusal("transient", `cannot print: ${error.message}`, {
    code: ERROR_CODES.SLUICE_PRINT,
    ...status,
    cause: error,
  });
}

function rejectOnAbort(work: Promise<void>, abort: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(new Refusal("transient", "gave up printing", { code: ERROR_CODES.SLUICE_ABORTED }));
    const settle = (outcome: () => void) => {
      abort.removeEventListener("abort", onAbort);
      outcome();
    };
    if (abort.aborted) return onAbort();
    abort.addEventListener("abort", onAbort, { once: true });
    work.then(
      () => settle(resolve),
      (error: unknown) => settle(() => reject(error)),
    );
  });
}
