import { type IncomingMessage, MESSAGE_HEADERS } from "#brokers";
import type { TextRow } from "#brokers/postgres";
import { ERROR_CODES } from "#contract/errors";
import { parseJson } from "#text/json";
import type { Setback } from "../../plugin.js";

/** A claimed row. Its values are text, except for the payload, which is bytes. */
export interface OutboxRow {
  readonly id: string;
  readonly key: string | null;
  readonly type: string | null;
  readonly payload: Uint8Array | null;
  readonly headers: string | null;
  readonly idempotencyKey: string | null;
  readonly createdMs: string | null;
  /**
   * How often the row was claimed since it was written, replayed, or stored by an agent. Claims while it waited for
   * another row of its key do not count.
   */
  readonly claims: number;
  /** The user who replayed the row, if this is the first claim since then. */
  readonly replayedBy: string | undefined;
  /** Whether the payload was not read because it is too large. */
  readonly isOversized: boolean;
  /** Whether the row's key is in the table of handled keys. */
  readonly isHandled: boolean;
}

const BYTEA = 17;

/** `payloadType` is the server's type number of the column. */
export function readRow(row: TextRow, payloadType: number): OutboxRow {
  const { payload } = row;
  const claims = Number(row["claims"] ?? 1);
  return {
    id: row["id"]!,
    key: row["key"] ?? null,
    type: row["type"] ?? null,
    payload: payload == null ? null : readPayload(payload, payloadType),
    headers: row["headers"] ?? null,
    idempotencyKey: row["idempotency_key"] ?? null,
    createdMs: row["created_ms"] ?? null,
    claims,
    replayedBy: claims <= 1 ? (row["replayed_by"] ?? undefined) : undefined,
    isOversized: row["oversized"] === "t",
    isHandled: row["handled"] === "t",
  };
}

/** The server writes bytes as `\x` and hexadecimal digits. */
function readPayload(text: string, type: number): Uint8Array {
  return type === BYTEA && text.startsWith("\\x") ? Buffer.from(text.slice(2), "hex") : Buffer.from(text);
}

/** Turns a row into a message with this key. `setback` says why the message cannot be handled normally. */
export function rowMessage(
  row: OutboxRow,
  table: string,
  idempotencyKey: string,
): { message: IncomingMessage; setback?: Setback } {
  const { id, key, type, payload, createdMs } = row;
  const facts = {
    "messaging.system": "postgresql",
    "messaging.destination.name": table,
    "messaging.message.id": id,
    ...(key !== null && { "outbox.key": key }),
    ...(type !== null && { "event.name": type }),
  };
  const headers = readHeaders(row.headers);
  const own = { [MESSAGE_HEADERS.idempotencyKey]: idempotencyKey };
  const message: IncomingMessage = {
    body: payload ?? new Uint8Array(0),
    headers: { ...(headers ?? { headers: row.headers }), ...own },
    facts,
    id: `${table}/${id}`,
    ...(createdMs !== null && { sentAtMs: Number(createdMs) }),
  };
  if (payload === null) return { message, setback: unreadable("the row has no payload") };
  if (headers === undefined) return { message, setback: unreadable("the headers of the row are not a JSON object") };
  return { message };
}

/**
 * The key of the event: the row's own, or else one made of the receiver, the table, the row's id, and its time if it has
 * one, because a table that was emptied may count from 1 again. It stays the same if the payload is corrected before a
 * replay.
 */
export function idempotencyKeyOf(row: OutboxRow, table: string, receiver: string): string {
  const { id, idempotencyKey, createdMs } = row;
  return idempotencyKey || [receiver, table, createdMs === null ? id : `${id}@${createdMs}`].join("/");
}

/** A row claimed too often without an outcome is not processed any more: it may be what makes agents crash. */
export function poisonSetback(claims: number): Setback {
  const message = `the row was claimed ${claims} times, and each time the agent exited before it had stored the row`;
  return { reason: "poison", category: "poison", code: ERROR_CODES.SLUICE_MESSAGE_UNREADABLE, message };
}

function readHeaders(text: string | null): Record<string, unknown> | undefined {
  if (text === null) return {};
  try {
    const headers: unknown = parseJson(text);
    if (headers === null) return {};
    return typeof headers === "object" && !Array.isArray(headers) ? (headers as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function unreadable(message: string): Setback {
  return { reason: "rejected", category: "schema", code: ERROR_CODES.SLUICE_MESSAGE_UNREADABLE, message };
}
