import type { Batch } from "../../../plugin.js";
import { DROP, FNV32_START, fnv32, KEEP, type RecordVisitor, RecordWalk, type Verdict } from "../../../runtime/kit.js";
import {
  ALL_ONES,
  ALWAYS,
  type Bits56,
  isLess,
  keeps,
  MIN_PROBABILITY,
  NEVER,
  probabilityOf,
  thresholdFor,
  thresholdText,
} from "../bits56.js";
import { findText, textEnd } from "../record-scan.js";
import { RANDOMNESS_PLACEHOLDER, type RecordStamp } from "../record-stamp.js";
import type { Carrier, SignalCarriers } from "./carrier.js";
import { logCarriers } from "./log-carrier.js";
import { spanCarriers } from "./span-carrier.js";

/** How a head sampler makes up its mind: the Collector's `probabilistic_sampler`, whose decisions it repeats. */
export interface ThresholdSamplerSettings {
  readonly percentage: number;
  readonly seed: number;
  readonly mode: "hash_seed" | "proportional" | "equalizing";
  /** Hex digits of a threshold, 1 to 14. */
  readonly precision: number;
  /** What cannot be decided is dropped. */
  readonly failClosed: boolean;
  /** Logs: the trace id is the source of randomness, if there is one. */
  readonly fromTraceId: boolean;
  /** Logs: the attribute that is the source of randomness otherwise. */
  readonly fromAttribute: string;
  /** Logs: the attribute that holds a record's own percentage. */
  readonly priorityAttribute: string;
}

/** Told once for each batch: so many records were decided this way, by this kind of randomness. */
type OnDecided = (policy: string, sampled: boolean, count: number) => void;

const TRACE_ID_HASH = 0;
const TRACE_ID_W3C = 1;
const RANDOMNESS = 2;
const PRIORITY = 3;
const MISSING = 4;
const ATTRIBUTE = 5;

/**
 * Decides for every record of a batch by its randomness, which all records of a trace share: whoever has the same
 * settings keeps the same traces. What is kept carries the threshold it was kept with.
 *
 * The common record has a trace id, or a text to decide by, and no sign of an earlier sampler. It is decided and stamped in place; all others go
 * through a carrier, which knows where the signal keeps its randomness and threshold.
 */
export class ThresholdSampler implements RecordVisitor {
  private readonly settings: ThresholdSamplerSettings;
  private readonly carriers: SignalCarriers;
  private readonly onDecided: OnDecided;
  private readonly policies: readonly string[];
  private readonly isHashMode: boolean;
  private readonly keepsNothing: boolean;
  private readonly seedHash: number;
  private readonly ratio: number;
  /** The threshold for what comes unsampled. */
  private readonly threshold: Bits56;
  private readonly stamp: RecordStamp;
  private readonly randomness: MutableBits56 = { high: 0, low: 0 };
  private policy = MISSING;
  private readonly counts = new Float64Array(12);

  constructor(signal: "logs" | "traces", settings: ThresholdSamplerSettings, onDecided: OnDecided) {
    this.settings = settings;
    this.onDecided = onDecided;
    this.carriers = signal === "logs" ? logCarriers(settings) : spanCarriers();
    this.policies = [
      "trace_id_hash",
      "trace_id_w3c",
      "sampling_randomness",
      "sampling_priority",
      "missing_randomness",
      settings.fromAttribute,
    ];
    this.isHashMode = settings.mode === "hash_seed";
    this.seedHash = hashSeed(settings.seed);
    const percentage = Math.min(100, Math.fround(settings.percentage));
    this.ratio = Math.max(percentage / 100, MIN_PROBABILITY);
    this.threshold = this.isHashMode ? hashThreshold(percentage) : thresholdFor(this.ratio, settings.precision)!;
    this.keepsNothing = percentage === 0 || this.threshold === NEVER;
    this.stamp = this.carriers.stamp(this.isHashMode ? RANDOMNESS_PLACEHOLDER : "", thresholdText(this.threshold));
  }

  sample(batch: Batch): Batch {
    this.counts.fill(0);
    const kept = new RecordWalk(batch).run(this);
    for (let i = 0; i < this.counts.length; i++) {
      if (this.counts[i]! > 0) this.onDecided(this.policies[i >> 1]!, (i & 1) === 1, this.counts[i]!);
    }
    return kept;
  }

  visit(walk: RecordWalk, start: number, end: number): Verdict {
    const { scan } = this.carriers;
    scan.run(walk.bytes, start, end);
    if (this.keepsNothing || !this.carriers.isPlain()) return this.decideByCarrier(walk, start, end);
    if (!this.findRandomness(walk.bytes)) return this.decideWithoutRandomness(walk, start, end);
    const sampled = keeps(this.threshold, this.randomness);
    this.counts[(this.policy << 1) | (sampled ? 1 : 0)]!++;
    if (!sampled) return DROP;
    this.stamp.append(walk, start, this.randomness);
    return KEEP;
  }

  /** A plain record with nothing to decide by is soon decided if that means to drop it. */
  private decideWithoutRandomness(walk: RecordWalk, start: number, end: number): Verdict {
    const hasSource = this.isHashMode && this.carriers.randomnessSourceAt() >= 0;
    if (hasSource || !this.settings.failClosed) return this.decideByCarrier(walk, start, end);
    this.counts[MISSING << 1]!++;
    return DROP;
  }

  /** Of a plain record, without making anything: from its trace id, or from an attribute that is a text. */
  private findRandomness(bytes: Uint8Array): boolean {
    const at = this.carriers.scan.traceId;
    if (!this.isHashMode) {
      this.policy = TRACE_ID_W3C;
      if (at >= 0) traceIdRandomnessInto(this.randomness, bytes, at);
      return at >= 0;
    }
    if (at >= 0 && this.settings.fromTraceId) {
      this.policy = TRACE_ID_HASH;
      hashRandomnessInto(this.randomness, this.seedHash, bytes, at, at + 16);
      return true;
    }
    const sourceAt = this.carriers.randomnessSourceAt();
    const start = sourceAt < 0 ? -1 : findText(bytes, sourceAt);
    if (start < 0 || textEnd === start) return false;
    this.policy = ATTRIBUTE;
    hashRandomnessInto(this.randomness, this.seedHash, bytes, start, textEnd);
    return true;
  }

  private decideByCarrier(walk: RecordWalk, start: number, end: number): Verdict {
    const carrier = this.carriers.read(walk.bytes);
    const { randomness, canCarry, failed } = this.keepsNothing
      ? randomnessNotNeeded(carrier)
      : this.randomnessOf(carrier, walk.bytes);
    let threshold = failed ? this.failureThreshold() : this.thresholdOf(carrier);
    const priority = this.carriers.priority(walk.bytes);
    if (priority !== undefined) {
      threshold = priority;
      this.policy = PRIORITY;
    } else if (this.keepsNothing) this.policy = PRIORITY;
    const sampled = keeps(threshold, randomness);
    this.counts[(this.policy << 1) | (sampled ? 1 : 0)]!++;
    if (!sampled) return DROP;
    if (canCarry) {
      carrier.raiseThreshold(threshold);
      carrier.write(walk, start, end);
    }
    return KEEP;
  }

  private randomnessOf(carrier: Carrier, bytes: Uint8Array): FoundRandomness {
    const found = this.isHashMode ? this.hashedRandomness(carrier, bytes) : this.consistentRandomness(carrier, bytes);
    if (found.failed) return found;
    if (this.policy === MISSING) return { ...found, failed: true };
    if (carrier.threshold === undefined || keeps(carrier.threshold, found.randomness)) return found;
    carrier.clearThreshold(); // whoever set it should not have kept this record
    return { ...found, failed: true };
  }

  /** Records that carry randomness or a threshold are for the other modes: this one does not touch them. */
  private hashedRandomness(carrier: Carrier, bytes: Uint8Array): FoundRandomness {
    const randomness = this.hashOf(bytes);
    if (!carrier.isValid || carrier.randomness !== undefined || carrier.threshold !== undefined)
      return { randomness, canCarry: false, failed: true };
    if (this.policy !== MISSING || carrier.writesMissingRandomness) carrier.setRandomness(randomness);
    return { randomness, canCarry: true, failed: false };
  }

  private hashOf(bytes: Uint8Array): Bits56 {
    const { scan } = this.carriers;
    this.policy = MISSING;
    if (scan.traceId >= 0 && this.settings.fromTraceId) {
      this.policy = TRACE_ID_HASH;
      hashRandomnessInto(this.randomness, this.seedHash, bytes, scan.traceId, scan.traceId + 16);
      return this.randomness;
    }
    const source = this.carriers.randomnessSource(bytes);
    if (source === undefined || source.length === 0) return ALL_ONES;
    this.policy = ATTRIBUTE;
    hashRandomnessInto(this.randomness, this.seedHash, source, 0, source.length);
    return this.randomness;
  }

  private consistentRandomness(carrier: Carrier, bytes: Uint8Array): FoundRandomness {
    this.policy = MISSING;
    if (!carrier.isValid) return { randomness: ALL_ONES, canCarry: false, failed: true };
    const at = this.carriers.scan.traceId;
    if (carrier.randomness !== undefined) {
      this.policy = RANDOMNESS;
      return { randomness: carrier.randomness, canCarry: true, failed: false };
    }
    if (at < 0) return { randomness: ALL_ONES, canCarry: true, failed: false };
    this.policy = TRACE_ID_W3C;
    traceIdRandomnessInto(this.randomness, bytes, at);
    return { randomness: this.randomness, canCarry: true, failed: false };
  }

  private thresholdOf({ threshold }: Carrier): Bits56 {
    if (this.keepsNothing) return NEVER;
    if (this.isHashMode || threshold === undefined) return this.threshold;
    if (this.settings.mode === "equalizing") return isLess(this.threshold, threshold) ? threshold : this.threshold;
    return thresholdFor(probabilityOf(threshold) * this.ratio, this.settings.precision) ?? NEVER;
  }

  private failureThreshold(): Bits56 {
    return this.settings.failClosed ? NEVER : ALWAYS;
  }
}

interface FoundRandomness {
  readonly randomness: Bits56;
  /** What is kept gets its threshold written. */
  readonly canCarry: boolean;
  readonly failed: boolean;
}

/** A sampler of 0 % needs no randomness; only a priority, or what it cannot read, gets past it. */
function randomnessNotNeeded(carrier: Carrier): FoundRandomness {
  return { randomness: ALL_ONES, canCarry: true, failed: !carrier.isValid };
}

/** In single precision and cut off, as it always was: other roundings would keep other traces. */
function hashThreshold(percentage: number): Bits56 {
  const kept = Math.trunc(Math.fround(percentage * Math.fround(HASH_BUCKETS / 100)));
  return kept === 0 ? NEVER : { high: (HASH_BUCKETS - kept) << 14, low: 0 };
}

/** A randomness that is written over for every record. */
interface MutableBits56 extends Bits56 {
  high: number;
  low: number;
}

/** The hash to go on with for everything that is hashed with this seed. */
function hashSeed(seed: number): number {
  return fnv32(FNV32_START, Uint8Array.of(seed, seed >>> 8, seed >>> 16, seed >>> 24), 0, 4);
}

/** How many buckets the hash of `hash_seed` falls into. */
const HASH_BUCKETS = 0x4000;

/**
 * The randomness that the mode `hash_seed` makes of bytes: the first fourteen bits are the bucket they fall into,
 * counted from the end, so that comparing with a threshold decides as comparing buckets does; the others are filled
 * with what else there is of the hash.
 */
function hashRandomnessInto(into: MutableBits56, state: number, b: Uint8Array, start: number, end: number): void {
  const hash = fnv32(state, b, start, end);
  const bucket = hash & (HASH_BUCKETS - 1);
  const rest = hash >>> 18;
  const mixed = rest ^ (rest << 10);
  into.high = ((HASH_BUCKETS - 1 - bucket) << 14) | (mixed >>> 14);
  into.low = ((mixed & 0x3fff) << 14) | bucket;
}

/** The randomness of a trace id: its last 56 bits, as W3C Trace Context says. */
function traceIdRandomnessInto(into: MutableBits56, b: Uint8Array, at: number): void {
  const middle = b[at + 12]!;
  into.high = (b[at + 9]! << 20) | (b[at + 10]! << 12) | (b[at + 11]! << 4) | (middle >>> 4);
  into.low = ((middle & 15) << 24) | (b[at + 13]! << 16) | (b[at + 14]! << 8) | b[at + 15]!;
}
