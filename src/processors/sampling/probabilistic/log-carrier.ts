import { after, attributeValue, varint } from "#otlp/bytes";
import { notFiniteText, quoteGoJson } from "#text/go";
import type { Value } from "../../../plugin.js";
import { type Bits56, isLess, parseRandomness, parseThreshold, thresholdFor, thresholdText, toHex } from "../bits56.js";
import { LOG_SHAPE, RecordScan } from "../record-scan.js";
import { type PresentRecord, RecordStamp, replaceFields, textAttribute } from "../record-stamp.js";
import type { Carrier, SignalCarriers } from "./carrier.js";

const THRESHOLD_KEY = "sampling.threshold";
const RANDOMNESS_KEY = "sampling.randomness";
const THRESHOLD_INDEX = 0;
const RANDOMNESS_INDEX = 1;

interface LogCarrierSettings {
  readonly precision: number;
  readonly fromAttribute: string;
  readonly priorityAttribute: string;
}

/** Log records use the attributes sampling.randomness and sampling.threshold, and a configurable priority attribute. */
export function logCarriers({ precision, fromAttribute, priorityAttribute }: LogCarrierSettings): SignalCarriers {
  const keys = [THRESHOLD_KEY, RANDOMNESS_KEY];
  const source = fromAttribute === "" ? -1 : keys.push(fromAttribute) - 1;
  const priority = priorityAttribute === "" ? -1 : keys.push(priorityAttribute) - 1;
  const scan = new RecordScan(LOG_SHAPE, keys);
  const has = (key: number) => key >= 0 && scan.keyValueAt[key] !== -1;
  return {
    scan,
    signs: [THRESHOLD_KEY, RANDOMNESS_KEY, ...(priority < 0 ? [] : [priorityAttribute])],
    isPlain: () =>
      scan.keyValueAt[THRESHOLD_INDEX] === -1 && scan.keyValueAt[RANDOMNESS_INDEX] === -1 && !has(priority),
    read: (bytes) => new LogCarrier(scan, bytes),
    priority: (bytes) => (has(priority) ? percentageOf(attributeValue(bytes, scan.keyValueAt[priority]!)) : undefined),
    randomnessSourceAt: () => (source < 0 ? -1 : scan.keyValueAt[source]!),
    randomnessSource: (bytes) =>
      has(source) ? bytesOfValue(attributeValue(bytes, scan.keyValueAt[source]!)) : undefined,
    stamp(randomness, threshold) {
      const fields = randomness === "" ? [] : [textAttribute(LOG_SHAPE.attributes, RANDOMNESS_KEY, randomness)];
      return new RecordStamp(...fields, textAttribute(LOG_SHAPE.attributes, THRESHOLD_KEY, threshold));
    },
  };

  function percentageOf(value: Value): Bits56 | undefined {
    const number = typeof value === "bigint" ? Number(value) : value;
    return typeof number === "number" ? thresholdFor(number / 100, precision) : undefined;
  }
}

class LogCarrier implements Carrier {
  readonly writesMissingRandomness = false;
  isValid = true;
  randomness: Bits56 | undefined;
  threshold: Bits56 | undefined;
  private readonly scan: RecordScan;
  private newRandomness: string | undefined;
  /** An empty text removes the attribute. */
  private newThreshold: string | undefined;

  constructor(scan: RecordScan, bytes: Uint8Array) {
    this.scan = scan;
    this.threshold = this.parse(bytes, THRESHOLD_INDEX, parseThreshold);
    this.randomness = this.parse(bytes, RANDOMNESS_INDEX, parseRandomness);
  }

  setRandomness(randomness: Bits56): void {
    this.randomness = randomness;
    this.newRandomness = toHex(randomness);
  }

  clearThreshold(): void {
    this.threshold = undefined;
    this.newThreshold = "";
  }

  raiseThreshold(threshold: Bits56): void {
    if (this.threshold !== undefined && isLess(threshold, this.threshold)) return;
    this.newThreshold = thresholdText(threshold);
  }

  write(present: PresentRecord, start: number, end: number): void {
    const removed: [number, number][] = [];
    const added: Uint8Array[] = [];
    this.replaceAttribute(present.bytes, RANDOMNESS_INDEX, RANDOMNESS_KEY, this.newRandomness, removed, added);
    this.replaceAttribute(present.bytes, THRESHOLD_INDEX, THRESHOLD_KEY, this.newThreshold, removed, added);
    if (removed.length + added.length > 0) replaceFields(present, start, end, removed, added);
  }

  private replaceAttribute(
    bytes: Uint8Array,
    key: number,
    name: string,
    text: string | undefined,
    removed: [number, number][],
    added: Uint8Array[],
  ): void {
    if (text === undefined) return;
    const lengthAt = this.scan.keyValueAt[key]!;
    if (lengthAt !== -1) {
      const size = varint(bytes, lengthAt);
      removed.push([this.scan.fieldAt[key]!, after + size]);
    }
    if (text !== "") added.push(textAttribute(LOG_SHAPE.attributes, name, text));
  }

  private parse(bytes: Uint8Array, key: number, parse: (text: string) => Bits56 | undefined): Bits56 | undefined {
    const at = this.scan.keyValueAt[key]!;
    const text = at === -1 ? "" : attributeValue(bytes, at);
    if (typeof text !== "string" || text === "") return undefined;
    const parsed = parse(text);
    if (parsed === undefined) this.isValid = false;
    return parsed;
  }
}

/**
 * Returns the bytes that are hashed for a value: bytes as they are, other values as the Collector converts them to
 * text.
 */
function bytesOfValue(value: Value): Uint8Array {
  return value instanceof Uint8Array ? value : Buffer.from(textOfValue(value));
}

function textOfValue(value: Value): string {
  if (typeof value === "string") return value;
  if (value === null) return "";
  if (typeof value === "number" && !Number.isFinite(value)) return `json: unsupported value: ${notFiniteText(value)}`;
  return jsonText(value);
}

/** Writes JSON as Go does: with sorted keys, and with characters escaped that could end a script. */
function jsonText(value: Value): string {
  if (value === null) return "null";
  if (typeof value === "string") return quoteGoJson(value);
  if (typeof value === "number") return Object.is(value, -0) ? "-0" : String(value);
  if (typeof value !== "object") return String(value);
  if (value instanceof Uint8Array) return quoteGoJson(Buffer.from(value).toString("base64"));
  if (Array.isArray(value)) return `[${value.map(jsonText).join(",")}]`;
  const map = value as { [key: string]: Value };
  const keys = Object.keys(map).sort();
  return `{${keys.map((key) => `${quoteGoJson(key)}:${jsonText(map[key]!)}`).join(",")}}`;
}
