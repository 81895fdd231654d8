import type { IncomingMessage } from "#brokers";

/** A stream entry as the client returns it: its id, then alternating fields and values. */
export interface StreamEntry {
  readonly id: string;
  readonly fields: readonly Buffer[];
}

/** Parses the lists of XREADGROUP and XAUTOCLAIM; deleted entries have no fields. */
export function readEntries(list: unknown): StreamEntry[] {
  const entries: StreamEntry[] = [];
  for (const entry of (list ?? []) as readonly (readonly [Buffer, readonly Buffer[] | null] | null)[]) {
    if (entry?.[1]) entries.push({ id: entry[0].toString(), fields: entry[1] });
  }
  return entries;
}

/** An entry without the body field gets an invalid body, so it becomes a dead letter that shows all fields. */
export function entryMessage(entry: StreamEntry, stream: string, bodyField: string): IncomingMessage {
  const { fields } = entry;
  const headers: Record<string, string> = {};
  let body: Uint8Array | undefined;
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i]!.toString();
    if (name === bodyField) body = fields[i + 1]!;
    else headers[name] = fields[i + 1]!.toString();
  }
  return new EntryMessage(entry.id, stream, body ?? NO_BODY, headers);
}

/** Properties of an entry are computed on demand, because OTLP needs none of them. */
class EntryMessage implements IncomingMessage {
  readonly body: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
  private readonly entryId: string;
  private readonly stream: string;

  constructor(entryId: string, stream: string, body: Uint8Array, headers: Readonly<Record<string, string>>) {
    this.entryId = entryId;
    this.stream = stream;
    this.body = body;
    this.headers = headers;
  }

  get id(): string {
    return `${this.stream}/${this.entryId}`;
  }

  get facts(): Readonly<Record<string, unknown>> {
    const { stream, entryId } = this;
    return { "messaging.system": "redis", "messaging.destination.name": stream, "messaging.message.id": entryId };
  }

  /** The server derives ids from the time, unless the producer chose the id. */
  get sentAtMs(): number | undefined {
    const time = Number(this.entryId.slice(0, this.entryId.indexOf("-")));
    return time > 1e12 ? time : undefined;
  }
}

/** Neither OTLP nor JSON: every encoding except text and raw rejects these bytes. */
const NO_BODY = Buffer.from([0xff]);
