import {
  after,
  FIXED64,
  fixed64,
  LENGTH_DELIMITED,
  skip,
  VARINT,
  varint,
  varint64,
} from "../../../src/runtime/otlp/bytes/wire.js";
import { WireWriter } from "../../../src/runtime/otlp/bytes/writer.js";

/** Jaeger's protobuf (api_v2) by its own table: messages from and to plain objects. Ids and binary values are hex, integers bigint. */

type Kind = "text" | "hex" | "number" | "bool" | "int64" | "double" | keyof typeof MESSAGES;

const time = { 1: ["seconds", "int64"], 2: ["nanos", "number"] } as const;

const MESSAGES = {
  PostSpansRequest: { 1: ["batch", "Batch"] },
  SapmRequest: { 1: ["batches", "Batch", "list"] },
  Batch: { 1: ["spans", "Span", "list"], 2: ["process", "Process"] },
  Process: { 1: ["serviceName", "text"], 2: ["tags", "KeyValue", "list"] },
  Span: {
    1: ["traceId", "hex"],
    2: ["spanId", "hex"],
    3: ["operationName", "text"],
    4: ["references", "SpanRef", "list"],
    5: ["flags", "number"],
    6: ["startTime", "Timestamp"],
    7: ["duration", "Duration"],
    8: ["tags", "KeyValue", "list"],
    9: ["logs", "Log", "list"],
    10: ["process", "Process"],
    12: ["warnings", "text", "list"],
  },
  SpanRef: { 1: ["traceId", "hex"], 2: ["spanId", "hex"], 3: ["refType", "number"] },
  Log: { 1: ["timestamp", "Timestamp"], 2: ["fields", "KeyValue", "list"] },
  KeyValue: {
    1: ["key", "text"],
    2: ["vType", "number"],
    3: ["vStr", "text"],
    4: ["vBool", "bool"],
    5: ["vInt64", "int64"],
    6: ["vFloat64", "double"],
    7: ["vBinary", "hex"],
  },
  Timestamp: time,
  Duration: time,
} as const;

type Fields = Readonly<Record<number, readonly [string, Kind, "list"?]>>;

// biome-ignore lint/suspicious/noExplicitAny: tests look into it as they need.
type JaegerMessage = Record<string, any>;

export function decodeJaeger(name: keyof typeof MESSAGES, b: Uint8Array): JaegerMessage {
  const found: JaegerMessage = {};
  for (let p = 0; p < b.length; ) {
    const tag = varint(b, p);
    const at = after;
    p = skip(b, at, tag);
    const field = (MESSAGES[name] as Fields)[tag >>> 3];
    if (field === undefined) throw new Error(`${name} has no field ${tag >>> 3}`);
    const [key, kind, list] = field;
    if ((tag & 7) !== wireTypeOf(kind)) throw new Error(`${name}.${key} has the wire type ${tag & 7}`);
    const value = decodeValue(kind, b, at, p);
    if (list) found[key] = [...(found[key] ?? []), value];
    else found[key] = value;
  }
  return found;
}

function wireTypeOf(kind: Kind): number {
  if (kind === "double") return FIXED64;
  return kind === "number" || kind === "bool" || kind === "int64" ? VARINT : LENGTH_DELIMITED;
}

function decodeValue(kind: Kind, b: Uint8Array, at: number, end: number): unknown {
  switch (kind) {
    case "number":
      return varint(b, at);
    case "bool":
      return varint(b, at) !== 0;
    case "int64":
      return BigInt.asIntN(64, varint64(b, at));
    case "double": {
      const bits = Buffer.alloc(8);
      bits.writeBigUInt64LE(fixed64(b, at));
      return bits.readDoubleLE();
    }
    default: {
      varint(b, at);
      const body = b.subarray(after, end);
      if (kind === "text") return new TextDecoder("utf-8", { fatal: true }).decode(body);
      return kind === "hex" ? Buffer.from(body).toString("hex") : decodeJaeger(kind, body);
    }
  }
}

export function encodeJaeger(name: keyof typeof MESSAGES, value: JaegerMessage): Uint8Array {
  const out = new WireWriter();
  for (const [number, [key, kind, list]] of Object.entries(MESSAGES[name] as Fields)) {
    for (const each of list ? (value[key] ?? []) : key in value ? [value[key]] : []) {
      out.varint((Number(number) << 3) | wireTypeOf(kind));
      encodeValue(out, kind, each);
    }
  }
  return out.written();
}

function encodeValue(out: WireWriter, kind: Kind, value: unknown): void {
  switch (kind) {
    case "number":
    case "bool":
    case "int64":
      return out.varint64(BigInt(value as number));
    case "double":
      return out.double(value as number);
    case "text":
      return out.text(value as string);
    case "hex":
      return out.lengthDelimited(Buffer.from(value as string, "hex"));
    default:
      return out.lengthDelimited(encodeJaeger(kind, value as JaegerMessage));
  }
}
