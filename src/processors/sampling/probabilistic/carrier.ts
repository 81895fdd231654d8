import type { Bits56 } from "../bits56.js";
import type { RecordScan } from "../record-scan.js";
import type { PresentRecord, RecordStamp } from "../record-stamp.js";

/**
 * The place where a record keeps its randomness and threshold: the tracestate of a span, attributes of a log record.
 */
export interface Carrier {
  /** False if its content could not be parsed. */
  readonly isValid: boolean;
  readonly randomness: Bits56 | undefined;
  readonly threshold: Bits56 | undefined;
  /** Whether a record without its own randomness gets the assigned one written on it. */
  readonly writesMissingRandomness: boolean;
  setRandomness(randomness: Bits56): void;
  clearThreshold(): void;
  /** A threshold lower than the present one changes nothing. */
  raiseThreshold(threshold: Bits56): void;
  /** Writes the present record, in [start, end), with all changes. */
  write(present: PresentRecord, start: number, end: number): void;
}

/** The carriers of a signal. All members except `stamp` are about the record that was scanned last. */
export interface SignalCarriers {
  readonly scan: RecordScan;
  /** Keys of attributes that need a carrier. */
  readonly signs: readonly string[];
  /** True if the record has no randomness, threshold or priority of its own, so it needs no carrier. */
  isPlain(): boolean;
  read(bytes: Uint8Array): Carrier;
  /** Returns the threshold that the record itself requests, or undefined. */
  priority(bytes: Uint8Array): Bits56 | undefined;
  /** Returns the position of the KeyValue length of the attribute that randomness is derived from, or -1. */
  randomnessSourceAt(): number;
  /** Returns the bytes of that attribute. */
  randomnessSource(bytes: Uint8Array): Uint8Array | undefined;
  /** Returns the stamp for plain records that are kept. The randomness may be a placeholder, or empty. */
  stamp(randomness: string, threshold: string): RecordStamp;
}
