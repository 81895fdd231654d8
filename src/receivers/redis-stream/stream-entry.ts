import type { IncomingMessage } from "../../runtime/kit.js";

/** An entry of a stream as the client gives it: its id, and its fields and values in turn. */
export interface StreamEntry {
  readonly id: string;
  readonly fields: readonly Buffer[];
}

/** What XREADGROUP and XAUTOCLAIM list; entries that were deleted meanwhile have no fields. */
export function readEntries(list: unknown): StreamEntry[] {
  const entries: StreamEntry[] = [];
  for (const entry of (list ?? []) as readonly (readonly [Buffer, readonly Buffer[] | null] | null)[]) {
    if (entry?.[1]) entries.push({ id: entry[0].toString(), fields: entry[1] });
  }
  return entries;
}

/** An entry without the field of the body has an empty one: as a dead letter it shows all fields. */
export function entryMessage({ id, fields }: StreamEntry, stream: string, bodyField: string): IncomingMessage {
  const headers: Record<string, string> = {};
  let body: Uint8Array | undefined;
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i]!.toString();
    if (name === bodyField) body = fields[i + 1]!;
    else headers[name] = fields[i + 1]!.toString();
  }
  const facts = { "messaging.system": "redis", "messaging.destination.name": stream, "messaging.message.id": id };
  const time = Number(id.slice(0, id.indexOf("-")));
  return { body: body ?? NO_BODY, headers, facts, id: `${stream}/${id}`, ...(time > 1e12 && { sentAtMs: time }) };
}

/** No OTLP, and no JSON: bytes that every encoding but text and raw refuses. */
const NO_BODY = Buffer.from([0xff]);
