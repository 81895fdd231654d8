import { attributeValue, type Rewriter, writeKeyValue } from "#otlp/bytes";
import type { Value } from "../../plugin.js";

interface SeenAttribute {
  /** Its range in the output. */
  from: number;
  to: number;
  readonly value: Value;
}

/**
 * Attributes that report what was done to the others of the same message. They replace attributes with the same keys
 * that an earlier processor has written. Pass those to `remember` when they are visited.
 */
export class SummaryAttributes {
  private readonly seen = new Map<string, SeenAttribute>();

  /** Call this when a new message begins. */
  clear(): void {
    if (this.seen.size > 0) this.seen.clear();
  }

  /** Remembers the attribute whose tag is at `at`, which has one of the summary's keys. */
  remember(rewriter: Rewriter, key: string, at: number, lengthAt: number, end: number): void {
    const value = attributeValue(rewriter.bytes, lengthAt);
    this.seen.set(key, { from: rewriter.outputPosition(at), to: rewriter.outputPosition(end), value });
  }

  /** Returns the value that an earlier processor has written. */
  get(key: string): Value | undefined {
    return this.seen.get(key)?.value;
  }

  /** Writes a summary attribute at the end of the message. */
  put(rewriter: Rewriter, end: number, attributesTag: number, key: string, value: Value): void {
    const out = rewriter.copyTo(end);
    const old = this.seen.get(key);
    if (old !== undefined) {
      const size = old.to - old.from;
      out.replace(old.from, old.to, EMPTY_BYTES);
      this.seen.delete(key);
      for (const other of this.seen.values()) {
        if (other.from < old.from) continue;
        other.from -= size;
        other.to -= size;
      }
    }
    out.varint(attributesTag);
    out.begin(key.length + 16);
    writeKeyValue(out, key, value);
    out.end();
  }
}

const EMPTY_BYTES = new Uint8Array(0);
