import { jsonText, type OwnedTree, type PlainAttributes, plainValueText } from "../../runtime/kit.js";
import type { ClickhouseColumn } from "./table-shapes.js";

/** A column with the type that it really has. */
export interface TypedColumn extends ClickhouseColumn {
  readonly actualType: string;
}

/** Records as lines of the format JSONEachRow. */
export function writeRows(members: readonly OwnedTree[], columns: readonly TypedColumn[]): string {
  const cells = columns.map((column) => [`${JSON.stringify(column.name)}:`, writerOf(column), column.read] as const);
  let text = "";
  for (const owned of members) {
    let row = "{";
    for (const [head, write, read] of cells) row += `${row === "{" ? "" : ","}${head}${write(read(owned))}`;
    text += `${row}}\n`;
  }
  return text;
}

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
  return /\b(JSON|Object)\b/.test(type) ? jsonText : mapCell;
}

function mapCell(attributes: unknown): string {
  const texts = Object.entries(attributes as PlainAttributes).map(
    ([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(plainValueText(value))}`,
  );
  return `{${texts.join(",")}}`;
}
