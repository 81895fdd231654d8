import { Batch } from "#otlp";
import type { Tree } from "#otlp/bytes";
import { anyValue, batchFromJson, encodeTree, keyValues } from "#otlp/json";
import type { Signal } from "#otlp/signals";
import { isMalformed, MalformedError } from "#otlp/signals";
import { ONLY_DEPTH, parseJson } from "#text/json";
import { HEADER_ATTRIBUTE, type IncomingMessage, type MessageEncoding } from "./message.js";
import { KEY_ATTRIBUTE, keyStamp } from "./message-key.js";

/**
 * Decodes the records of a message. OTLP bytes are kept as they are; `text`, `raw` and `json` become one log record
 * with the headers, the broker's metadata and the key of the message as attributes. Throws a `MalformedError` when the
 * body is invalid.
 */
export function readMessage(
  signal: Signal,
  encoding: MessageEncoding,
  message: IncomingMessage,
  receiver: string,
): Batch {
  switch (encoding) {
    case "otlp_proto":
      return Batch.admit(signal, message.body);
    case "otlp_json":
      return batchFromJson(signal, message.body);
    default:
      return recordOf(signal, anyValue(readBody(encoding, message.body)), message, receiver);
  }
}

/**
 * A whole message in one record, for the dead letter of an unreadable message. The bytes become the body of a log
 * record; spans and data points get an attribute for it.
 */
export function wholeMessage(signal: Signal, message: IncomingMessage, receiver: string): Batch {
  return recordOf(signal, { bytesValue: message.body }, message, receiver);
}

function readBody(encoding: "text" | "raw" | "json", body: Uint8Array): unknown {
  if (encoding === "raw") return body;
  const text = decodeUtf8(body);
  if (encoding === "text") return text;
  try {
    return parseJson(text, ONLY_DEPTH);
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

function recordOf(signal: Signal, body: Tree, message: IncomingMessage, receiver: string): Batch {
  const { headers, facts, sentAtMs = 0 } = message;
  const attributes = [
    ...keyValues({ ...facts, [KEY_ATTRIBUTE]: keyStamp(message, receiver) }),
    ...Object.keys(headers).flatMap((name) => headerValues(headers, name)),
  ];
  return encodeTree(signal, CARRIERS[signal](body, attributes, nanoseconds(sentAtMs)));
}

/** A header that OTLP cannot represent is skipped: it must not make the message unreadable. */
function headerValues(headers: IncomingMessage["headers"], name: string): Tree[] {
  const { [name]: value } = headers;
  try {
    return keyValues({ [name]: value }, HEADER_ATTRIBUTE);
  } catch (error) {
    if (!isMalformed(error)) throw error;
    return keyValues({ [name]: `(${error.message})` }, HEADER_ATTRIBUTE);
  }
}

/** Senders may set any time: one outside of OTLP's range becomes 0 (unknown). */
function nanoseconds(ms: number): bigint {
  return ms > 0 && ms < MAX_TIME_MS ? BigInt(Math.trunc(ms)) * 1_000_000n : 0n;
}

const MAX_TIME_MS = 2 ** 64 / 1_000_000;

/** Holds the message for signals whose records have no body. */
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
