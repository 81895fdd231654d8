import { execFile } from "node:child_process";
import process from "node:process";
import type { LoadedConfig } from "#config";
import type { Problem } from "#config/text";
import type { ReloadReport } from "#contract/operations";
import { packageFolder } from "#system";
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
  const isSyntax = problems.some(({ message }) => message.includes("SyntaxError"));
  const places = isSyntax ? await syntaxPlaces(scripts) : [];
  const bold = (line: string) => painter(output.colour)("bold", printable(line));
  return [...text.trimEnd().split("\n"), ...places.flatMap((place) => place.split("\n")).map(bold)];
}

/** A problem of a reload; the line of the config is not known any more. */
export function reportedProblem({ severity, code, message, place }: ReloadReport["problems"][number]): Problem {
  const text = place === undefined ? message : `${message}\n  at ${place}`;
  return { severity, code: code as Problem["code"], place: undefined, path: "", message: text };
}

/** More files of plugins are not checked: each takes a process. */
const MAX_FILES = 30;

/** Where files cannot be parsed: `/src/a.js:3: SyntaxError: Unexpected token`. Node.js tells this only of its program. */
async function syntaxPlaces(files: Iterable<string>): Promise<string[]> {
  if (packageFolder() === undefined) return []; // a single executable is not Node.js
  const places: string[] = [];
  for (const file of [...files].slice(-MAX_FILES)) {
    const place = await syntaxPlace(file);
    if (place !== undefined) places.push(place);
  }
  return places;
}

function syntaxPlace(file: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(process.execPath, ["--check", file], { timeout: 10_000 }, (error, _, stderr) => {
      const line = /^(?:file:.*|\S.*):(\d+)$/m.exec(stderr)?.[1];
      const message = /^\w*Error: .*$/m.exec(stderr)?.[0];
      const [, source, caret] = stderr.split("\n");
      const excerpt = [source, caret].filter((each) => each?.trim()).map((each) => `\n  ${each}`);
      resolve(error === null || line === undefined ? undefined : `${file}:${line}: ${message}${excerpt.join("")}`);
    });
  });
}
