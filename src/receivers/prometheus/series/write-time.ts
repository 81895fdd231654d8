import type { WireWriter } from "#otlp/bytes";

/**
 * Writes milliseconds since 1970 as a fixed64 of nanoseconds, without a bigint. Times repeat, so the encoding of the
 * last one is cached. Times before 1970 count as 1970.
 */
export class NanosecondsWriter {
  private ms = Number.NaN;
  private low = 0;
  private high = 0;

  /** Writes eight bytes at `at` and returns where they end. */
  put(view: DataView, at: number, timeMs: number): number {
    if (timeMs !== this.ms) this.set(timeMs);
    view.setUint32(at, this.low, true);
    view.setUint32(at + 4, this.high, true);
    return at + 8;
  }

  private set(timeMs: number): void {
    this.ms = timeMs;
    const ms = Math.max(0, Math.floor(timeMs));
    const lowMs = ms % 0x10000;
    const high = ((ms - lowMs) / 0x10000) * 1e6;
    const sum = (high % 0x10000) * 0x10000 + lowMs * 1e6;
    this.low = sum % 0x1_0000_0000;
    this.high = Math.floor(high / 0x10000) + Math.floor(sum / 0x1_0000_0000);
  }
}

const shared = new NanosecondsWriter();

export function writeTime(writer: WireWriter, timeMs: number): void {
  writer.reserve(8);
  writer.length = shared.put(writer.view, writer.length, timeMs);
}
