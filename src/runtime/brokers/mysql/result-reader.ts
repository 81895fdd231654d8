import { MysqlProtocolError, PayloadReader } from "./packets.js";

/** A column of a result. */
interface MysqlColumn {
  readonly name: string;
  /** The number of its type in the protocol. */
  readonly type: number;
}

/** A row: the text of each column, undefined for NULL. Bytes that are no UTF-8 become U+FFFD. */
export type MysqlRow = readonly (string | undefined)[];

/** The first result of a statement; without columns if it gives no rows. */
export interface MysqlResult {
  readonly columns: readonly MysqlColumn[];
  readonly rows: readonly MysqlRow[];
}

/** An error that the server has reported. */
export class MysqlServerError extends Error {
  override readonly name = "MysqlServerError";
  readonly code: number;

  constructor(code: number, state: string, message: string) {
    super(`${message} (${[code, state].filter(Boolean).join(", ")})`);
    this.code = code;
  }
}

/** The server allows no more columns. */
const MAX_COLUMNS = 4096;
const MAX_MESSAGE_LENGTH = 500;
const MORE_RESULTS = 8;

/** Whether the packet is an error of the server. */
export function isServerError(payload: Buffer): boolean {
  return payload[0] === 0xff;
}

export function readServerError(payload: Buffer): MysqlServerError {
  const fields = new PayloadReader(payload, 1);
  const code = fields.uint(2);
  const rest = fields.rest().toString("utf8");
  const [, state = "", message = ""] = /^(?:#(.{5}))?(.*)$/s.exec(rest) ?? [];
  return new MysqlServerError(code, state, message.slice(0, MAX_MESSAGE_LENGTH));
}

/** Reads the packets of an answer to a query. */
export class ResultReader {
  private readonly maxBytes: number;
  private readonly columns: MysqlColumn[] = [];
  private readonly rows: MysqlRow[] = [];
  private missing = 0;
  private byteLength = 0;
  private state: "begin" | "columns" | "end of columns" | "rows" = "begin";
  /** Statements may give several results: only the first one counts. */
  private isFirst = true;

  /** A result of more than `maxBytes` is refused. */
  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  /** Returns the result if this was the last packet. Throws the server's error, or a `MysqlProtocolError`. */
  take(payload: Buffer): MysqlResult | undefined {
    if (payload.length === 0) throw new MysqlProtocolError("the server sent an empty packet");
    this.byteLength += payload.length;
    if (this.byteLength > this.maxBytes)
      throw new MysqlProtocolError(`the result has more than ${this.maxBytes} bytes; limit it, as with LIMIT`);
    if (isServerError(payload)) throw readServerError(payload);
    if (this.state === "rows") return this.takeRow(payload);
    if (this.state === "columns") return this.takeColumn(payload);
    if (this.state === "end of columns") return this.endColumns(payload);
    return this.begin(payload);
  }

  private begin(payload: Buffer): MysqlResult | undefined {
    if (payload[0] === 0xfb) throw new MysqlProtocolError("the server asked for a local file, which is not allowed");
    const fields = new PayloadReader(payload);
    if (payload[0] === 0) {
      fields.at = 1;
      fields.length();
      fields.length();
      return this.end(fields.uint(2));
    }
    this.missing = fields.length();
    if (this.missing > MAX_COLUMNS || fields.left > 0)
      throw new MysqlProtocolError("the server sent a malformed packet");
    this.state = "columns";
    return undefined;
  }

  private takeColumn(payload: Buffer): undefined {
    const fields = new PayloadReader(payload);
    for (let i = 0; i < 4; i++) fields.take(fields.length());
    const name = fields.take(fields.length()).toString("utf8");
    fields.take(fields.length());
    if (fields.length() < 12) throw new MysqlProtocolError("the server sent a malformed packet");
    fields.take(6);
    const type = fields.uint(1);
    if (this.isFirst) this.columns.push({ name, type });
    this.missing -= 1;
    if (this.missing === 0) this.state = "end of columns";
    return undefined;
  }

  private endColumns(payload: Buffer): undefined {
    if (!isEnd(payload)) throw new MysqlProtocolError("the server sent a malformed packet");
    this.state = "rows";
    return undefined;
  }

  private takeRow(payload: Buffer): MysqlResult | undefined {
    if (isEnd(payload)) return this.end(payload.length < 5 ? 0 : payload.readUInt16LE(3));
    if (!this.isFirst) return undefined;
    const fields = new PayloadReader(payload);
    const row: (string | undefined)[] = [];
    for (let i = 0; i < this.columns.length; i++) row.push(fields.text());
    if (fields.left > 0) throw new MysqlProtocolError("the server sent a malformed packet");
    this.rows.push(row);
    return undefined;
  }

  private end(status: number): MysqlResult | undefined {
    this.isFirst = false;
    this.state = "begin";
    return (status & MORE_RESULTS) === 0 ? { columns: this.columns, rows: this.rows } : undefined;
  }
}

/** A row can begin with the same byte, but is longer then. */
function isEnd(payload: Buffer): boolean {
  return payload[0] === 0xfe && payload.length < 9;
}
