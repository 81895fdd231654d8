import { painter, printable } from "#text";
import type { Output } from "../terminal.js";

export interface Column {
  readonly title: string;
  readonly align?: "right";
  /** May be narrowed when the table is too wide; the last such column is narrowed first. */
  readonly shrinks?: boolean;
}

const GAP = 2;
const MIN_COLUMN_WIDTH = 8;

/** Lines of a table, header first. On a terminal they are cut to its width if possible; elsewhere nothing is cut. */
export function table(columns: readonly Column[], rows: readonly (readonly string[])[], output: Output): string[] {
  const [head = "", ...lines] = plainTable(columns, rows, output.columns);
  return [painter(output.colour)("bold", head), ...lines];
}

function plainTable(columns: readonly Column[], rows: readonly (readonly string[])[], width?: number): string[] {
  const cells = [columns.map(({ title }) => title), ...rows.map((row) => row.map(printable))];
  const widths = columns.map((_, i) => Math.max(...cells.map((row) => characterCount(row[i] ?? ""))));
  if (width !== undefined) shrink(widths, columns, width);
  return cells.map((row) =>
    row
      .map((text, i) => fitCell(text, widths[i]!, columns[i]!))
      .join(" ".repeat(GAP))
      .trimEnd(),
  );
}

function shrink(widths: number[], columns: readonly Column[], width: number): void {
  let excess = widths.reduce((sum, each) => sum + each, GAP * (widths.length - 1)) - width;
  for (let i = columns.length - 1; i >= 0 && excess > 0; i--) {
    if (!columns[i]!.shrinks) continue;
    const given = Math.min(excess, Math.max(0, widths[i]! - MIN_COLUMN_WIDTH));
    widths[i]! -= given;
    excess -= given;
  }
}

function fitCell(text: string, width: number, { align }: Column): string {
  const short = characterCount(text) > width ? `${[...text].slice(0, Math.max(0, width - 1)).join("")}…` : text;
  const pad = " ".repeat(Math.max(0, width - characterCount(short)));
  return align === "right" ? pad + short : short + pad;
}

function characterCount(text: string): number {
  return [...text].length;
}
