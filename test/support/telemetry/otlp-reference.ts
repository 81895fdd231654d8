import { createRequire } from "node:module";
import type { Tree, TreeValue } from "../../../src/runtime/otlp/json/tree.js";
import type { Signal } from "../../../src/runtime/otlp/signals/signal.js";

/**
 * The independent OTLP encoder and decoder: the protobufjs code generated for OpenTelemetry JS. It speaks trees here,
 * as `decodeTree` does. It is older than a log record's `eventName`, a resource's
 * `entityRefs`, a metric's `metadata` and the `flags` of spans and links.
 */
interface MessageType {
  encode(message: unknown): { finish(): Uint8Array };
  decode(bytes: Uint8Array): unknown;
  toObject(message: unknown, options: object): Tree;
}

interface LongLike {
  readonly low: number;
  readonly high: number;
  readonly unsigned: boolean;
}

interface LongType {
  fromBits(low: number, high: number, unsigned: boolean): LongLike;
  isLong(value: unknown): value is LongLike;
}

const require = createRequire(import.meta.url);
const reference = createRequire(require.resolve("otlp-reference"));
const { collector } = reference("./generated/root").opentelemetry.proto;
const Long = reference("protobufjs/minimal").util.Long as LongType;

const REQUESTS: Record<Signal, MessageType> = {
  logs: collector.logs.v1.ExportLogsServiceRequest,
  traces: collector.trace.v1.ExportTraceServiceRequest,
  metrics: collector.metrics.v1.ExportMetricsServiceRequest,
};

export function referenceEncode(signal: Signal, tree: Tree): Uint8Array {
  return REQUESTS[signal].encode(toLongs(tree)).finish();
}

export function referenceDecode(signal: Signal, bytes: Uint8Array): Tree {
  return fromLongs(REQUESTS[signal].decode(bytes)) as Tree;
}

/** The reference's own JSON form: 64-bit numbers as text, everything else as protobufjs has it. */
export function referenceJson(signal: Signal, bytes: Uint8Array): Tree {
  const type = REQUESTS[signal];
  return type.toObject(type.decode(bytes), { longs: String, json: true });
}

function toLongs(value: TreeValue): unknown {
  if (typeof value === "bigint") {
    return Long.fromBits(Number(BigInt.asIntN(32, value)), Number(BigInt.asIntN(32, value >> 32n)), value >= 0n);
  }
  if (Array.isArray(value)) return value.map(toLongs);
  if (typeof value !== "object" || value instanceof Uint8Array) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, toLongs(item)]));
}

function fromLongs(value: unknown): unknown {
  if (Long.isLong(value)) {
    const bits = (BigInt(value.high >>> 0) << 32n) | BigInt(value.low >>> 0);
    return value.unsigned ? bits : BigInt.asIntN(64, bits);
  }
  if (value instanceof Uint8Array) return new Uint8Array(value);
  if (Array.isArray(value)) return value.map(fromLongs);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fromLongs(item)]));
}
