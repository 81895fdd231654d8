import { attributeValue, type Rewriter, writeKeyValue } from "#otlp/bytes";
import type { Value } from "../../plugin.js";

interface SeenAttribute {
  /** Where it stands in the output. */
  from: number;
  to: number;
  readonly value: Value;
}

/**
 * Attributes that say what was done to the others of the same message. An earlier one of the same key, which an earlier
 * processor has left there, is replaced; it must have been shown to `remember` when it was passed.
 */
export class SummaryAttributes {
  private readonly seen = new Map<string, SeenAttribute>();

  /** Forgets what was seen: a new message begins. */
  clear(): void {
    if (this.seen.size > 0) this.seen.clear();
  }

  /** The attribute whose tag is at `at` has one of the keys of the summary. */
  remember(rewriter: Rewriter, key: string, at: number, lengthAt: number, end: number): void {
    const value = attributeValue(rewriter.bytes, lengthAt);
    this.seen.set(key, { from: rewriter.outputPosition(at), to: rewriter.outputPosition(end), value });
  }

  /** What an earlier one says. */
  get(key: string): Value | undefined {
    return this.seen.get(key)?.value;
  }

  /** At the end of the message. */
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
