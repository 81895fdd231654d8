import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import module from "node:module";
import process from "node:process";
import type { LoadedConfig } from "#config";
import type { Problem } from "#config/text";
import type { ReloadReport } from "#contract/operations";
import { isSingleExecutable } from "#system";
import { painter, printable } from "#text";
import { showProblems } from "../show-problems.js";
import type { Output } from "../terminal.js";

/** Lines about problems, with the places of syntax errors in `scripts`, which Node.js does not tell. */
export async function problemLines(
  problems: readonly Problem[],
  { lineAt }: Pick<LoadedConfig, "lineAt">,
  scripts: Iterable<string>,
  output: Output,
): Promise<string[]> {
  if (problems.length === 0) return [];
  let text = "";
  const write = (part: string) => {
    text += part;
  };
  showProblems(problems, lineAt, { ...output, write });
  const isSyntax = problems.some(({ message }) => message.includes("SyntaxError") && !PLACE.test(message));
  const places = isSyntax ? await syntaxPlaces(scripts) : [];
  const bold = (line: string) => painter(output.colour)("bold", printable(line));
  return [...text.trimEnd().split("\n"), ...places.flatMap((place) => place.split("\n")).map(bold)];
}

/** A message that ends with a place: `(src/index.ts:3:5)`. */
const PLACE = /:\d+\)$/;

/** A problem of a reload; the line of the config is not known any more. */
export function reportedProblem({ severity, code, message, place }: ReloadReport["problems"][number]): Problem {
  const text = place === undefined ? message : `${message}\n  at ${place}`;
  return { severity, code: code as Problem["code"], place: undefined, path: "", message: text };
}

/** More files of plugins are not checked: each takes a process. */
const MAX_FILES = 30;

/** The place of a syntax error: `/src/a.js:3: SyntaxError: Unexpected token`. Node.js prints it only for its program. */
async function syntaxPlaces(files: Iterable<string>): Promise<string[]> {
  if (isSingleExecutable()) return [];
  const places: string[] = [];
  for (const file of [...files].slice(-MAX_FILES)) {
    const report = /\.[mc]?ts$/.test(file) ? stripError(file) : await checkError(file);
    const place = report === undefined ? undefined : placeIn(report, file);
    if (place !== undefined) places.push(place);
  }
  return places;
}

/** Returns the error that Node.js prints about a file that it cannot parse; undefined if it can. */
function checkError(file: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(process.execPath, ["--check", file], { timeout: 10_000 }, (error, _, stderr) =>
      resolve(error === null ? undefined : stderr),
    );
  });
}

/** The same of TypeScript whose types Node.js strips. */
function stripError(file: string): string | undefined {
  const strip = (module as { stripTypeScriptTypes?: (text: string, options: object) => string }).stripTypeScriptTypes;
  const { emitWarning } = process;
  process.emitWarning = () => {}; // the function is experimental
  try {
    strip?.(readFileSync(file, "utf8"), { sourceUrl: file });
    return undefined;
  } catch (error) {
    return error instanceof SyntaxError ? error.stack : undefined;
  } finally {
    process.emitWarning = emitWarning;
  }
}

/** The report begins with the place, the line, and a mark below it. */
function placeIn(report: string, file: string): string | undefined {
  const line = /:(\d+)$/m.exec(report)?.[1];
  // Linear: it starts once in a line.
  const message = /^\w*Error\b.*$/m.exec(report)?.[0];
  const [, source, caret] = report.split("\n");
  const excerpt = [source, caret].filter((each) => each?.trim()).map((each) => `\n  ${each}`);
  return line === undefined ? undefined : `${file}:${line}: ${message}${excerpt.join("")}`;
}
