import { Batch } from "#otlp";
import type { Tree } from "#otlp/bytes";
import { anyValue, batchFromJson, encodeTree, keyValues } from "#otlp/json";
import type { Signal } from "#otlp/signals";
import { isMalformed, MalformedError } from "#otlp/signals";
import { HEADER_ATTRIBUTE, type IncomingMessage, type MessageEncoding } from "./message.js";

/**
 * The records of a message. OTLP stays the bytes it is; of `text`, `raw` and `json` one log record is made, whose
 * attributes are the headers and what the broker says. Throws a `MalformedError` when the body is not what it should be.
 */
export function readMessage(signal: Signal, encoding: MessageEncoding, message: IncomingMessage): Batch {
  switch (encoding) {
    case "otlp_proto":
      return Batch.admit(signal, message.body);
    case "otlp_json":
      return batchFromJson(signal, message.body);
    default:
      return recordOf(signal, anyValue(readBody(encoding, message.body)), message);
  }
}

/**
 * A message as it came, in one record: what is kept as a dead letter of one that cannot be read. Of a log record it is
 * the body; spans and data points have an attribute for it.
 */
export function wholeMessage(signal: Signal, message: IncomingMessage): Batch {
  return recordOf(signal, { bytesValue: message.body }, message);
}

function readBody(encoding: "text" | "raw" | "json", body: Uint8Array): unknown {
  if (encoding === "raw") return body;
  const text = decodeUtf8(body);
  if (encoding === "text") return text;
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new MalformedError(`the body is not JSON: ${(cause as Error).message}`, -1, { cause });
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

function decodeUtf8(body: Uint8Array): string {
  try {
    return utf8.decode(body);
  } catch (cause) {
    throw new MalformedError("the body is not UTF-8", -1, { cause });
  }
}

function recordOf(signal: Signal, body: Tree, { headers, facts, sentAtMs = 0 }: IncomingMessage): Batch {
  const attributes = [...keyValues(facts), ...Object.keys(headers).flatMap((name) => headerValues(headers, name))];
  return encodeTree(signal, CARRIERS[signal](body, attributes, nanoseconds(sentAtMs)));
}

/** Headers are beside the point: one that OTLP has no form for does not make the message unreadable. */
function headerValues(headers: IncomingMessage["headers"], name: string): Tree[] {
  const { [name]: value } = headers;
  try {
    return keyValues({ [name]: value }, HEADER_ATTRIBUTE);
  } catch (error) {
    if (!isMalformed(error)) throw error;
    return keyValues({ [name]: `(${error.message})` }, HEADER_ATTRIBUTE);
  }
}

/** Senders write what they like: a time that OTLP has no number for is none. */
function nanoseconds(ms: number): bigint {
  return ms > 0 && ms < MAX_TIME_MS ? BigInt(Math.trunc(ms)) * 1_000_000n : 0n;
}

const MAX_TIME_MS = 2 ** 64 / 1_000_000;

/** What only a log record has a place for. */
const BODY_ATTRIBUTE = "messaging.message.body";

const CARRIERS: Readonly<Record<Signal, (body: Tree, attributes: Tree[], time: bigint) => Tree>> = {
  logs: (body, attributes, time) => ({
    resourceLogs: [{ scopeLogs: [{ logRecords: [{ timeUnixNano: time, body, attributes }] }] }],
  }),
  traces: (body, attributes, time) => {
    const withBody = [...attributes, { key: BODY_ATTRIBUTE, value: body }];
    const times = { startTimeUnixNano: time, endTimeUnixNano: time };
    return { resourceSpans: [{ scopeSpans: [{ spans: [{ name: "message", ...times, attributes: withBody }] }] }] };
  },
  metrics: (body, attributes, time) => {
    const point = { timeUnixNano: time, asInt: 1n, attributes: [...attributes, { key: BODY_ATTRIBUTE, value: body }] };
    const metrics = [{ name: "message", gauge: { dataPoints: [point] } }];
    return { resourceMetrics: [{ scopeMetrics: [{ metrics }] }] };
  },
};
