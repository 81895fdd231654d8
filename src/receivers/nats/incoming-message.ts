import type { JsMsg } from "@nats-io/jetstream";
import type { IncomingMessage } from "../../runtime/kit.js";

const NS_PER_MS = 1e6;

/** What the rest of the agent sees of a message; read lazily, as OTLP needs none of it. */
export function incomingMessage(message: JsMsg): IncomingMessage {
  const { headers, data, subject, info } = message;
  const id = headers?.get("Nats-Msg-Id");
  return {
    body: data,
    headers: headers === undefined ? {} : plainHeaders(headers),
    facts: {
      "messaging.system": "nats",
      "messaging.destination.name": subject,
      "messaging.nats.stream": info.stream,
      "messaging.nats.sequence": info.streamSequence,
      ...(id && { "messaging.message.id": id }),
    },
    id: id || `${info.stream}/${info.streamSequence}@${info.timestampNanos}`,
    sentAtMs: Math.floor(info.timestampNanos / NS_PER_MS),
  };
}

function plainHeaders(headers: NonNullable<JsMsg["headers"]>): Record<string, string | readonly string[]> {
  const plain: Record<string, string | readonly string[]> = {};
  for (const [name, values] of headers) plain[name] = values.length === 1 ? values[0]! : values;
  return plain;
}
