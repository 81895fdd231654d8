import { WireWriter } from "#otlp/bytes";
import { jsonText, type OwnedTree, type PlainAttributes, plainValueText } from "#otlp/json";
import type { ClickhouseColumn } from "./table-shapes.js";

/** A column with the type that it really has. */
export interface TypedColumn extends ClickhouseColumn {
  readonly actualType: string;
}

/** Records as lines of the format JSONEachRow. Each is written out at once: the pieces of all together are much garbage. */
export function writeRows(members: readonly OwnedTree[], columns: readonly TypedColumn[]): Buffer {
  const cells = columns.map((column) => [`${JSON.stringify(column.name)}:`, writerOf(column), column.read] as const);
  const out = new WireWriter(64 * 1024);
  for (const owned of members) {
    let row = "{";
    for (const [head, write, read] of cells) row += `${row === "{" ? "" : ","}${head}${write(read(owned))}`;
    row += "}\n";
    out.reserve(row.length * MAX_CHARACTER_BYTES);
    out.length += out.bytes.write(row, out.length);
  }
  return out.bytes.subarray(0, out.length);
}

/** A character of JavaScript's takes so many at most in UTF-8. */
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

/** Integers of any size are digits; what JSON has no number for is a word that the server reads as one. */
function plainCell(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(plainCell).join(",")}]`;
  if (typeof value === "bigint") return String(value);
  if (typeof value === "number" && !Number.isFinite(value))
    return Number.isNaN(value) ? '"nan"' : value > 0 ? '"inf"' : '"-inf"';
  return JSON.stringify(value);
}

/** The server reads an integer as a time in the unit of the column: no time zone is meant, whatever the server's is. */
function timeWriter(type: string): Write {
  const digits = /DateTime64\((\d)/.exec(type)?.[1];
  const isSeconds = digits === undefined && type.includes("DateTime");
  const unit = isSeconds ? 1_000_000_000n : 10n ** BigInt(9 - Number(digits ?? 9));
  return (nanos) => String((nanos as bigint) / unit);
}

function mapWriter(type: string): Write {
  return onceForNeighbours(/\b(JSON|Object)\b/.test(type) ? jsonText : mapCell);
}

/** Records one behind the other mostly share their resource and scope, whose attributes are written once for them. */
function onceForNeighbours(write: Write): Write {
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
