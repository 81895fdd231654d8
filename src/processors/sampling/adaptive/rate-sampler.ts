import { FNV32_START, fnv32 } from "#codecs";
import { after, attributeValue, decodeText, findField, varint } from "#otlp/bytes";
import { SEVERITY_NUMBERS } from "#otlp/signals";
import { OWNER_TAG, RESOURCE_ATTRIBUTES_TAG, STATUS_CODE_TAG } from "#otlp/tags";
import { DROP, KEEP, type RecordVisitor, RecordWalk, type Verdict } from "#otlp/views";
import type { Batch, Value } from "../../../plugin.js";
import { ALWAYS } from "../bits56.js";
import { findText, LOG_SHAPE, RecordScan, type ScanShape, SPAN_SHAPE, textEnd } from "../record-scan.js";
import { doubleAttribute, RecordStamp, replaceFields } from "../record-stamp.js";
import { type ValuePath, valueInAttributes, valueInBody } from "./value-path.js";

/** The attribute with the probability that a record was kept with. A record without it was kept with certainty. */
const RATE_ATTRIBUTE = "sampling.rate";

/** The properties of the present record that rules may use. */
export interface RecordFacts {
  /** 1 to 24; 0 for a log record that has none, and for spans. */
  readonly severity: number;
  /** True for log records of ERROR or FATAL, and for spans with an error status. */
  readonly isError: boolean;
  /** A number in [0, 1) derived from the trace id; -1 if the record belongs to no trace. */
  readonly traceFraction: number;
  /** The name of the event or span. */
  readonly name: string;
  /** A hash of the name, for lookups; 0 if there is no name. */
  readonly nameHash: number;
  /** Whether the name equals this one, given in UTF-8. */
  isNamed(name: Uint8Array): boolean;
  /** Returns the value at this path, or undefined. */
  value(path: ValuePath): Value | undefined;
}

/** Gives the probability of keeping each record, and learns the outcome. */
export interface RateRules {
  /** Returns a probability from 0 (never keep) to 1 (always keep). */
  rateOf(record: RecordFacts): number;
  decided(rate: number, kept: boolean): void;
}

interface RateSamplerSettings {
  readonly seed: number;
  /** Returns a number in [0, 1), for records that belong to no trace. */
  readonly random: () => number;
}

const EVENT_NAME_INDEX = 0;
const RATE_INDEX = 1;
const SEVERITY_ERROR = SEVERITY_NUMBERS.error;

/**
 * Keeps records with the probability that rules give them. Records of a trace are decided by its id: the same rate
 * gives the same result everywhere, and a trace kept at a low rate is kept at every higher one. The rate is written on
 * every kept record, multiplied by the rate that an earlier sampler has written.
 */
export class RateSampler implements RecordVisitor, RecordFacts {
  private readonly settings: RateSamplerSettings;
  private readonly rules: RateRules;
  private readonly shape: ScanShape;
  private readonly isLogs: boolean;
  private readonly scan: RecordScan;
  private readonly stamps = new Map<number, RecordStamp>();
  private walk!: RecordWalk;
  private start = 0;
  private end = 0;
  traceFraction = -1;
  private nameStart = 0;
  private nameEnd = 0;

  constructor(signal: "logs" | "traces", settings: RateSamplerSettings, rules: RateRules) {
    this.settings = settings;
    this.rules = rules;
    this.isLogs = signal === "logs";
    this.shape = this.isLogs ? LOG_SHAPE : SPAN_SHAPE;
    this.scan = new RecordScan(this.shape, ["event.name", RATE_ATTRIBUTE]);
  }

  sample(batch: Batch): Batch {
    return new RecordWalk(batch).run(this);
  }

  visit(walk: RecordWalk, start: number, end: number): Verdict {
    this.walk = walk;
    this.start = start;
    this.end = end;
    this.scan.run(walk.bytes, start, end);
    this.findName();
    const at = this.scan.traceId;
    this.traceFraction = at < 0 ? -1 : traceIdFraction(this.settings.seed, walk.bytes, at);
    const rate = this.rules.rateOf(this);
    const kept = rate >= 1 || (rate > 0 && (at < 0 ? this.settings.random() : this.traceFraction) < rate);
    this.rules.decided(rate, kept);
    if (!kept) return DROP;
    if (rate < 1) this.writeRate(rate);
    return KEEP;
  }

  get severity(): number {
    return this.scan.severity;
  }

  get isError(): boolean {
    if (this.isLogs) return this.scan.severity >= SEVERITY_ERROR;
    const { statusStart, statusEnd } = this.scan;
    if (statusStart < 0) return false;
    const at = findField(this.walk.bytes, statusStart, statusEnd, STATUS_CODE_TAG);
    return at >= 0 && varint(this.walk.bytes, at) === STATUS_ERROR;
  }

  get name(): string {
    return decodeText(this.walk.bytes, this.nameStart, this.nameEnd);
  }

  get nameHash(): number {
    const { nameStart, nameEnd } = this;
    return nameStart === nameEnd ? 0 : fnv32(FNV32_START, this.walk.bytes, nameStart, nameEnd);
  }

  isNamed(name: Uint8Array): boolean {
    const { nameStart, nameEnd } = this;
    if (nameEnd - nameStart !== name.length) return false;
    const { bytes } = this.walk;
    for (let i = 0; i < name.length; i++) if (bytes[nameStart + i] !== name[i]) return false;
    return true;
  }

  value(path: ValuePath): Value | undefined {
    const { bytes } = this.walk;
    if (path.owner === "attributes") return valueInAttributes(bytes, this.start, this.end, this.shape.attributes, path);
    if (path.owner === "body") return this.isLogs ? valueInBody(bytes, this.start, this.end, path) : undefined;
    const frame = this.walk.frames[0]!;
    const at = findField(bytes, frame.start, frame.end, OWNER_TAG);
    if (at < 0) return undefined;
    const size = varint(bytes, at);
    return valueInAttributes(bytes, after, after + size, RESOURCE_ATTRIBUTES_TAG, path);
  }

  /** Takes the name from its own field or, for log records without it, from the attribute event.name. */
  private findName(): void {
    const { nameStart, nameEnd, keyValueAt } = this.scan;
    this.nameStart = nameStart;
    this.nameEnd = nameStart < 0 ? nameStart : nameEnd;
    if (this.nameEnd > this.nameStart || !this.isLogs || keyValueAt[EVENT_NAME_INDEX] === -1) return;
    this.nameStart = findText(this.walk.bytes, keyValueAt[EVENT_NAME_INDEX]!);
    this.nameEnd = this.nameStart < 0 ? this.nameStart : textEnd;
  }

  private writeRate(rate: number): void {
    const { walk, start, end } = this;
    const lengthAt = this.scan.keyValueAt[RATE_INDEX]!;
    if (lengthAt === -1) return this.stampFor(rate).append(walk, start, ALWAYS);
    const previousRate = attributeValue(walk.bytes, lengthAt);
    const combined =
      typeof previousRate === "number" && previousRate > 0 && previousRate < 1 ? previousRate * rate : rate;
    const size = varint(walk.bytes, lengthAt);
    const added = doubleAttribute(this.shape.attributes, RATE_ATTRIBUTE, combined);
    replaceFields(walk, start, end, [[this.scan.fieldAt[RATE_INDEX]!, after + size]], [added]);
  }

  /**
   * There should be no more rates than rules times tiers. If there are more, clients are inventing them, so the cache
   * is limited.
   */
  private stampFor(rate: number): RecordStamp {
    let stamp = this.stamps.get(rate);
    if (stamp === undefined) {
      if (this.stamps.size >= MAX_STAMPS) this.stamps.clear();
      stamp = new RecordStamp(doubleAttribute(this.shape.attributes, RATE_ATTRIBUTE, rate));
      this.stamps.set(rate, stamp);
    }
    return stamp;
  }
}

const MAX_STAMPS = 1024;
const STATUS_ERROR = 2;

/**
 * Derives a number in [0, 1) from a trace id; the same seed gives the same number everywhere. All bits of the id are
 * mixed, so the result is uniform even for ids that are not random. It is also independent of samplers that use the
 * id's last bits, such as those of SDKs, so the rates of consecutive samplers multiply.
 */
function traceIdFraction(seed: number, b: Uint8Array, at: number): number {
  const low = murmur3(seed ^ 0x9e3779b9, b, at);
  const high = murmur3(seed ^ 0x7f4a7c15, b, at);
  return ((high >>> 6) * 0x8000000 + (low >>> 5)) / 2 ** 53;
}

/** Returns Murmur3 of the sixteen bytes at `at`. */
function murmur3(seed: number, b: Uint8Array, at: number): number {
  let hash = seed | 0;
  for (let i = at; i < at + 16; i += 4) {
    let word = b[i]! | (b[i + 1]! << 8) | (b[i + 2]! << 16) | (b[i + 3]! << 24);
    word = Math.imul(word, 0xcc9e2d51);
    word = Math.imul((word << 15) | (word >>> 17), 0x1b873593);
    hash ^= word;
    hash = (hash << 13) | (hash >>> 19);
    hash = (Math.imul(hash, 5) + 0xe6546b64) | 0;
  }
  hash ^= 16;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
