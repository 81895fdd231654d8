import type { IncomingMessage } from "#brokers";

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

/** What is said of an entry is made when it is asked for: OTLP needs none of it. */
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

  /** The server names entries by their time, unless whoever added one has named it. */
  get sentAtMs(): number | undefined {
    const time = Number(this.entryId.slice(0, this.entryId.indexOf("-")));
    return time > 1e12 ? time : undefined;
  }
}

/** No OTLP, and no JSON: bytes that every encoding but text and raw refuses. */
const NO_BODY = Buffer.from([0xff]);
