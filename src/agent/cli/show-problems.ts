import { type Place, type Problem, placeText } from "#config/text";
import { type Paint, painter, printable } from "#text";
import type { Output } from "./terminal.js";

/**
 * Prints problems: message, place, the source line with a caret under the place, what to write instead, and at the end
 * the count. `lineAt` gives source lines with secrets masked.
 */
export function showProblems(
  problems: readonly Problem[],
  lineAt: (place: Place) => string | undefined,
  out: Output,
): void {
  if (problems.length === 0) return;
  const paint = painter(out.colour);
  const columns = Math.min(out.columns ?? MAX_WIDTH, MAX_WIDTH);
  const blocks = problems.map((problem) => problemText(problem, lineAt, paint, columns));
  out.write(`${blocks.join("\n\n")}\n\n${countText(problems)}\n`);
}

/** `2 errors, 1 warning` */
function countText(problems: readonly Problem[]): string {
  const count = (severity: Problem["severity"]) => {
    const number = problems.filter((problem) => problem.severity === severity).length;
    return number === 0 ? [] : [`${number} ${severity}${number === 1 ? "" : "s"}`];
  };
  return [...count("error"), ...count("warning")].join(", ") || "no problems";
}

function problemText(
  problem: Problem,
  lineAt: (place: Place) => string | undefined,
  paint: Paint,
  columns: number,
): string {
  const { severity, place, path, message, suggestion } = problem;
  const head = `${paint(severity === "error" ? "red" : "yellow", severity)}: ${paint("bold", message.split("\n").map(printable).join("\n"))}`;
  const where = [place && placeText(place), path && paint("dim", path)].filter(Boolean).join("  ");
  const excerpt = place === undefined ? [] : excerptOf(place, lineAt(place), paint, columns);
  const hint = suggestion === undefined ? [] : [`  ${paint("blue", suggestion)}`];
  return [head, ...(where === "" ? [] : [`  at ${where}`]), ...excerpt, ...hint].join("\n");
}

/** The widest excerpt of a line. */
const MAX_WIDTH = 160;
/** Characters that are shown before the place, if the start of its line does not fit. */
const LEAD = 20;

function printableLine(line: string): string {
  return line.split("\t").map(printable).join("\t");
}

function excerptOf(place: Place, line: string | undefined, paint: Paint, columns: number): string[] {
  if (line === undefined || line.trim() === "" || place.column > line.length + 1) return [];
  const number = String(place.line);
  const gap = " ".repeat(number.length);
  const { text, at } = cutAround(line, place.column - 1, columns - number.length - 5);
  // Tabs stay tabs, so that the caret is under its place whatever their width.
  const indent = printableLine(text.slice(0, at)).replace(/[^\t]/g, " ");
  return [
    `  ${paint("dim", `${number} |`)} ${printableLine(text)}`,
    `  ${paint("dim", `${gap} |`)} ${indent}${paint("red", "^")}`,
  ];
}

/** A part of the line with this place in it that fits, so that the terminal does not break it above the caret. */
function cutAround(line: string, at: number, width: number): { readonly text: string; readonly at: number } {
  if (line.length <= width) return { text: line, at };
  const from = at < width - LEAD ? 0 : at - LEAD;
  const start = from === 0 ? "" : "…";
  const end = from + width - start.length;
  const text = end < line.length ? `${line.slice(from, end - 1)}…` : line.slice(from);
  return { text: start + text, at: at - from + start.length };
}
