import type { Bits56 } from "../bits56.js";
import type { RecordScan } from "../record-scan.js";
import type { PresentRecord, RecordStamp } from "../record-stamp.js";

/** Where one record keeps its randomness and threshold: a span in its tracestate, a log record in attributes. */
export interface Carrier {
  /** False when it held something that could not be read. */
  readonly isValid: boolean;
  readonly randomness: Bits56 | undefined;
  readonly threshold: Bits56 | undefined;
  /** Whether a record with nothing to decide by has the randomness it was given written on it too. */
  readonly writesMissingRandomness: boolean;
  setRandomness(randomness: Bits56): void;
  clearThreshold(): void;
  /** A threshold lower than the one that is there changes nothing. */
  raiseThreshold(threshold: Bits56): void;
  /** Writes the present record, in [start, end), with all changes. */
  write(present: PresentRecord, start: number, end: number): void;
}

/** The carriers of a signal. All but `stamp` is about the record scanned last. */
export interface SignalCarriers {
  readonly scan: RecordScan;
  /** The keys of attributes that a carrier is needed for. */
  readonly signs: readonly string[];
  /** No randomness, threshold or priority of its own: nothing that a carrier is needed for. */
  isPlain(): boolean;
  read(bytes: Uint8Array): Carrier;
  /** The threshold that the record asks for itself, or undefined. */
  priority(bytes: Uint8Array): Bits56 | undefined;
  /** The attribute that randomness is made of: where its KeyValue's length is, or -1. */
  randomnessSourceAt(): number;
  /** The bytes of that attribute. */
  randomnessSource(bytes: Uint8Array): Uint8Array | undefined;
  /** What a plain record gets when it is kept; the randomness may be a hole, or empty. */
  stamp(randomness: string, threshold: string): RecordStamp;
}
