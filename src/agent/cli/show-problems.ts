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
  const blocks = problems.map((problem) => problemText(problem, lineAt, paint));
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

function problemText(problem: Problem, lineAt: (place: Place) => string | undefined, paint: Paint): string {
  const { severity, place, path, message, suggestion } = problem;
  const head = `${paint(severity === "error" ? "red" : "yellow", severity)}: ${paint("bold", message.split("\n").map(printable).join("\n"))}`;
  const where = [place && placeText(place), path && paint("dim", path)].filter(Boolean).join("  ");
  const excerpt = place === undefined ? [] : excerptOf(place, lineAt(place), paint);
  const hint = suggestion === undefined ? [] : [`  ${paint("blue", suggestion)}`];
  return [head, ...(where === "" ? [] : [`  at ${where}`]), ...excerpt, ...hint].join("\n");
}

const MAX_WIDTH = 160;

function printableLine(line: string): string {
  return line.split("\t").map(printable).join("\t");
}

function excerptOf(place: Place, line: string | undefined, paint: Paint): string[] {
  if (line === undefined || line.trim() === "" || place.column > MAX_WIDTH) return [];
  const number = String(place.line);
  const gap = " ".repeat(number.length);
  // Tabs stay tabs, so that the caret is under its place whatever their width.
  const indent = printableLine(line.slice(0, place.column - 1)).replace(/[^\t]/g, " ");
  return [
    `  ${paint("dim", `${number} |`)} ${printableLine(line.slice(0, MAX_WIDTH))}`,
    `  ${paint("dim", `${gap} |`)} ${indent}${paint("red", "^")}`,
  ];
}
