/**
 * Text tables: the first column is left-aligned, the others are right-aligned.
 *
 * @typedef {{ title: string, columns: string[], rows: string[][], note?: string }} Table
 * @param {Table} table
 */
export function formatTable({ title, columns, rows, note }) {
  const widths = columns.map((name, i) => Math.max(name.length, ...rows.map((row) => row[i]?.length ?? 0)));
  const line = (/** @type {string[]} */ cells) =>
    cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join("  ");
  const rule = widths.map((width) => "-".repeat(width)).join("  ");
  return [title, "", line(columns), rule, ...rows.map(line), ...(note ? ["", note] : []), ""].join("\n");
}

/** A number with this many decimals and thousands separators; a dash if it is unknown. */
export function show(/** @type {number | null | undefined} */ value, digits = 0) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "-";
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** @param {number | null | undefined} bytes */
export function mib(bytes) {
  return show(bytes === null || bytes === undefined ? null : bytes / 1024 / 1024);
}

/** @param {{ median: number, min: number, max: number } | null} ratio */
export function showRatio(ratio, digits = 2) {
  if (ratio === null) return "-";
  return `${show(ratio.median, digits)} (${show(ratio.min, digits)}-${show(ratio.max, digits)})`;
}
