import { WireWriter } from "#otlp/bytes";
import { jsonText, type OwnedTree, type PlainAttributes, plainValueText } from "#otlp/json";
import type { SliceTimer } from "#work";
import type { ClickhouseColumn } from "./table-shapes.js";

/** A column with its actual type in the table. */
export interface TypedColumn extends ClickhouseColumn {
  readonly actualType: string;
}

/**
 * Writes records as lines of the format JSONEachRow, in pieces that follow each other. A piece has many lines, because a
 * piece for each line would leave much garbage; only a long line is one by itself. A line is long if it repeats a large
 * resource, so other work gets its turn between lines, and between the columns of a long one.
 */
export async function writeRows(
  members: readonly OwnedTree[],
  columns: readonly TypedColumn[],
  timer: SliceTimer,
): Promise<readonly Uint8Array[]> {
  const cells = columns.map((column) => [`${JSON.stringify(column.name)}:`, writerOf(column), column.read] as const);
  const out = new WireWriter(LONG_ROW);
  const pieces: Uint8Array[] = [];
  const endPiece = () => {
    if (out.length > 0) pieces.push(Buffer.from(out.written()));
    out.clear();
  };
  for (const owned of members) {
    let row = "{";
    for (const [head, write, read] of cells) {
      row += `${row === "{" ? "" : ","}${head}${write(read(owned))}`;
      if (row.length > LONG_ROW && timer.isOver) await timer.nextSlice();
    }
    row += "}\n";
    if (out.length + row.length > MAX_PIECE) endPiece();
    if (row.length > LONG_ROW) pieces.push(Buffer.from(row));
    else {
      out.reserve(row.length * MAX_CHARACTER_BYTES);
      out.length += out.bytes.write(row, out.length);
    }
    if (timer.isOver) await timer.nextSlice();
  }
  endPiece();
  return pieces;
}

/** Characters of a row that is a piece of its own, so that no copy of it is made while the rest is written. */
const LONG_ROW = 64 * 1024;
const MAX_PIECE = 1024 * 1024;

/** Maximum bytes of a UTF-16 code unit in UTF-8. */
const MAX_CHARACTER_BYTES = 3;

type Write = (value: unknown) => string;

function writerOf({ form, actualType }: TypedColumn): Write {
  switch (form) {
    case "plain":
      return plainCell;
    case "time":
      return timeWriter(actualType);
    case "times":
      return listOf(timeWriter(actualType));
    case "map":
      return mapWriter(actualType);
    case "maps":
      return listOf(mapWriter(actualType));
  }
}

function listOf(write: Write): Write {
  return (list) => `[${(list as readonly unknown[]).map(write).join(",")}]`;
}

/** Integers of any size are written as digits. Numbers that JSON lacks are written as words that the server accepts. */
function plainCell(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(plainCell).join(",")}]`;
  if (typeof value === "bigint") return String(value);
  if (typeof value === "number" && !Number.isFinite(value))
    return Number.isNaN(value) ? '"nan"' : value > 0 ? '"inf"' : '"-inf"';
  return JSON.stringify(value);
}

/** The server reads an integer as a time in the unit of the column, independent of time zones. */
function timeWriter(type: string): Write {
  const digits = /DateTime64\((\d)/.exec(type)?.[1];
  const isSeconds = digits === undefined && type.includes("DateTime");
  const unit = isSeconds ? 1_000_000_000n : 10n ** BigInt(9 - Number(digits ?? 9));
  return (nanos) => String((nanos as bigint) / unit);
}

function mapWriter(type: string): Write {
  return memoizeLast(/\b(JSON|Object)\b/.test(type) ? jsonText : mapCell);
}

/** Adjacent records mostly share their resource and scope, so the text of shared attributes is made once for them. */
function memoizeLast(write: Write): Write {
  let last: unknown;
  let text = "";
  return (value) => {
    if (value !== last || last === undefined) {
      text = write(value);
      last = value;
    }
    return text;
  };
}

function mapCell(attributes: unknown): string {
  const texts = Object.entries(attributes as PlainAttributes).map(
    ([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(plainValueText(value))}`,
  );
  return `{${texts.join(",")}}`;
}
