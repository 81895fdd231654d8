import { LogEntry, type LogMap, type LogValue, setValue } from "#logs/entries";

/** An entry of the journal: its fields, and its place. */
interface JournalEntry {
  readonly body: LogMap;
  readonly cursor: string;
  /** Nanoseconds since the epoch. */
  readonly timestamp: bigint;
}

const TIME = "__REALTIME_TIMESTAMP";

/** Reads a line of journalctl's JSON. Throws if it is no entry. */
export function parseJournalEntry(line: string, convertsBytes: boolean): JournalEntry {
  const parsed = JSON.parse(line) as unknown;
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed))
    throw new Error("it is not a JSON object");
  const fields = parsed as Readonly<Record<string, unknown>>;
  // An ordinary object: entries mostly have the same fields, so V8 shares their shape.
  const body: LogMap = {};
  let cursor: unknown;
  let time: unknown;
  for (const name in fields) {
    const value = fields[name];
    if (name === "__CURSOR") cursor = value;
    if (name === TIME) time = value;
    else setValue(body, name, fieldValue(value));
  }
  if (typeof cursor !== "string" || cursor === "") throw new Error("it has no __CURSOR");
  if (typeof time !== "string" || !/^\d{1,16}$/.test(time)) throw new Error(`it has no ${TIME}`);
  const { MESSAGE: message } = body;
  if (convertsBytes && Array.isArray(message) && message.every((each) => typeof each === "number"))
    body["MESSAGE"] = Buffer.from(message as number[]).toString("utf8");
  return { body, cursor, timestamp: BigInt(time) * 1000n };
}

/** A field is text, a list of bytes, null if it is too long, or a list of these. */
function fieldValue(value: unknown): LogValue {
  if (Array.isArray(value)) return value.map((each) => (Array.isArray(each) ? bytesOf(each) : plainValue(each)));
  return plainValue(value);
}

function bytesOf(list: readonly unknown[]): LogValue {
  return list.map(plainValue);
}

function plainValue(value: unknown): LogValue {
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return value;
  return null;
}

/** A log record of the entry. `origin` is the cursor of the entry before it. */
export function logEntryOf({ body, timestamp }: JournalEntry, attributes: LogMap, resource: LogMap, origin: unknown) {
  const entry = new LogEntry(body, attributes, resource, origin);
  entry.timestamp = timestamp;
  return entry;
}
