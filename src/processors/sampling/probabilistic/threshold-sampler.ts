import { encodedKey } from "#otlp/bytes";
import { DROP, KEEP, type RecordVisitor, RecordWalk, type Verdict } from "#otlp/views";
import type { Batch } from "../../../plugin.js";
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
  toHex,
} from "../bits56.js";
import { findText, LOG_SHAPE, SPAN_SHAPE, textEnd } from "../record-scan.js";
import { type PresentRecord, RANDOMNESS_PLACEHOLDER, type RecordStamp } from "../record-stamp.js";
import type { Carrier, SignalCarriers } from "./carrier.js";
import { logCarriers } from "./log-carrier.js";
import { PlainRecords } from "./plain-records.js";
import {
  ATTRIBUTE,
  COUNTS,
  countIndex,
  MISSING,
  PRIORITY,
  RANDOMNESS,
  TRACE_ID_HASH,
  TRACE_ID_W3C,
} from "./policies.js";
import {
  hashRandomnessInto,
  hashSeed,
  hashThreshold,
  type MutableBits56,
  traceIdRandomnessInto,
} from "./randomness.js";
import { spanCarriers } from "./span-carrier.js";

/** Settings of a head sampler that makes the same decisions as the Collector's `probabilistic_sampler`. */
export interface ThresholdSamplerSettings {
  readonly percentage: number;
  readonly seed: number;
  readonly mode: "hash_seed" | "proportional" | "equalizing";
  /** Hex digits of a threshold, 1 to 14. */
  readonly precision: number;
  /** Whether to drop records that cannot be decided about. */
  readonly failClosed: boolean;
  /** For logs: the trace id, if there is one, is the source of randomness. */
  readonly fromTraceId: boolean;
  /** For logs: the attribute that is the source of randomness otherwise. */
  readonly fromAttribute: string;
  /** For logs: the attribute that holds a record's own percentage. */
  readonly priorityAttribute: string;
}

/** Called once per batch for each kind of decision, with the number of records. */
type OnDecided = (policy: string, sampled: boolean, count: number) => void;

/**
 * Decides about every record of a batch by its randomness, which all records of a trace share: samplers with the same
 * settings keep the same traces. Kept records carry the threshold they were kept with.
 *
 * A common record has a trace id, or a text to decide by, and no sign of an earlier sampler. It is decided and stamped
 * in place. All others go through a carrier, which knows where the signal keeps its randomness and threshold.
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
  /** The threshold for records that no other sampler has sampled. */
  private readonly threshold: Bits56;
  private readonly fromTraceId: boolean;
  private readonly stamp: RecordStamp;
  /** The stamp for plain records without a source of randomness; undefined if they are dropped. */
  private readonly missingStamp: RecordStamp | undefined;
  private readonly plainRecords: PlainRecords | undefined;
  private readonly randomness: MutableBits56 = { high: 0, low: 0 };
  private policy = MISSING;
  private readonly counts = new Float64Array(COUNTS);

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
    this.fromTraceId = signal === "traces" || settings.fromTraceId;
    this.seedHash = hashSeed(settings.seed);
    const percentage = Math.min(100, Math.fround(settings.percentage));
    this.ratio = Math.max(percentage / 100, MIN_PROBABILITY);
    this.threshold = this.isHashMode ? hashThreshold(percentage) : thresholdFor(this.ratio, settings.precision)!;
    this.keepsNothing = percentage === 0 || this.threshold === NEVER;
    this.stamp = this.carriers.stamp(this.isHashMode ? RANDOMNESS_PLACEHOLDER : "", thresholdText(this.threshold));
    const missingRandomness = this.isHashMode && signal === "traces" ? toHex(ALL_ONES) : "";
    this.missingStamp = settings.failClosed ? undefined : this.carriers.stamp(missingRandomness, thresholdText(ALWAYS));
    this.plainRecords = PlainRecords.for({
      shape: signal === "logs" ? LOG_SHAPE : SPAN_SHAPE,
      signs: this.carriers.signs.map((key) => encodedKey(key)),
      seedHash: this.isHashMode ? this.seedHash : undefined,
      fromTraceId: this.fromTraceId,
      source:
        this.isHashMode && signal === "logs" && settings.fromAttribute !== ""
          ? encodedKey(settings.fromAttribute)
          : undefined,
      threshold: this.keepsNothing ? undefined : this.threshold,
      stamp: this.stamp,
      missingStamp: this.missingStamp,
    });
  }

  sample(batch: Batch): Batch {
    this.counts.fill(0);
    const kept = this.plainRecords?.sample(batch, this, this.counts) ?? new RecordWalk(batch).run(this);
    for (let i = 0; i < this.counts.length; i++) {
      if (this.counts[i]! > 0) this.onDecided(this.policies[i >> 1]!, (i & 1) === 1, this.counts[i]!);
    }
    return kept;
  }

  visit(present: PresentRecord, start: number, end: number): Verdict {
    const { scan } = this.carriers;
    scan.run(present.bytes, start, end);
    if (this.keepsNothing || !this.carriers.isPlain()) return this.decideByCarrier(present, start, end);
    if (!this.findRandomness(present.bytes)) return this.decideMissing(present, start);
    const sampled = keeps(this.threshold, this.randomness);
    this.counts[countIndex(this.policy, sampled)]!++;
    if (!sampled) return DROP;
    this.stamp.append(present, start, this.randomness);
    return KEEP;
  }

  /** Decides about a plain record without a source of randomness. */
  private decideMissing(present: PresentRecord, start: number): Verdict {
    const { missingStamp } = this;
    this.counts[countIndex(MISSING, missingStamp !== undefined)]!++;
    if (missingStamp === undefined) return DROP;
    missingStamp.append(present, start, ALL_ONES);
    return KEEP;
  }

  /** Finds the randomness of a plain record: from its trace id, or from an attribute, which usually is a text. */
  private findRandomness(bytes: Uint8Array): boolean {
    const at = this.carriers.scan.traceId;
    if (!this.isHashMode) {
      this.policy = TRACE_ID_W3C;
      if (at >= 0) traceIdRandomnessInto(this.randomness, bytes, at);
      return at >= 0;
    }
    if (at >= 0 && this.fromTraceId) {
      this.policy = TRACE_ID_HASH;
      hashRandomnessInto(this.randomness, this.seedHash, bytes, at, at + 16);
      return true;
    }
    this.policy = ATTRIBUTE;
    const sourceAt = this.carriers.randomnessSourceAt();
    if (sourceAt < 0) return false;
    const start = findText(bytes, sourceAt);
    if (start >= 0) hashRandomnessInto(this.randomness, this.seedHash, bytes, start, textEnd);
    return start < 0 ? this.hashOtherValue(bytes) : textEnd > start;
  }

  private hashOtherValue(bytes: Uint8Array): boolean {
    const source = this.carriers.randomnessSource(bytes)!;
    hashRandomnessInto(this.randomness, this.seedHash, source, 0, source.length);
    return source.length > 0;
  }

  private decideByCarrier(present: PresentRecord, start: number, end: number): Verdict {
    const carrier = this.carriers.read(present.bytes);
    const { randomness, canCarry, failed } = this.keepsNothing
      ? randomnessNotNeeded(carrier)
      : this.randomnessOf(carrier, present.bytes);
    let threshold = failed ? this.failureThreshold() : this.thresholdOf(carrier);
    const priority = this.carriers.priority(present.bytes);
    if (priority !== undefined) {
      threshold = priority;
      this.policy = PRIORITY;
    } else if (this.keepsNothing) this.policy = PRIORITY;
    const sampled = keeps(threshold, randomness);
    this.counts[countIndex(this.policy, sampled)]!++;
    if (!sampled) return DROP;
    if (canCarry) {
      carrier.raiseThreshold(threshold);
      carrier.write(present, start, end);
    }
    return KEEP;
  }

  private randomnessOf(carrier: Carrier, bytes: Uint8Array): FoundRandomness {
    const found = this.isHashMode ? this.hashedRandomness(carrier, bytes) : this.consistentRandomness(carrier, bytes);
    if (found.failed) return found;
    if (this.policy === MISSING) return { ...found, failed: true };
    if (carrier.threshold === undefined || keeps(carrier.threshold, found.randomness)) return found;
    carrier.clearThreshold(); // its sampler should not have kept this record
    return { ...found, failed: true };
  }

  /** Records that carry randomness or a threshold belong to the other modes; this mode does not touch them. */
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
    if (scan.traceId >= 0 && this.fromTraceId) {
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
  /** Whether a kept record gets its threshold written. */
  readonly canCarry: boolean;
  readonly failed: boolean;
}

/** A sampler of 0 % needs no randomness. Only a record with a priority, or one that cannot be parsed, passes. */
function randomnessNotNeeded(carrier: Carrier): FoundRandomness {
  return { randomness: ALL_ONES, canCarry: true, failed: !carrier.isValid };
}
