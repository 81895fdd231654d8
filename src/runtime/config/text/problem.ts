import type { ProblemCode } from "./problem-codes.js";

/** Where something stands. Lines and columns count from 1. */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** `gateway.yaml:3:7`, which terminals and editors can follow. */
export function placeText({ file, line, column }: Place): string {
  return `${file}:${line}:${column}`;
}

/** Something wrong (error) or doubtful (warning) in a config, said so that it can be mended without looking anything up. */
export interface Problem {
  readonly severity: "error" | "warning";
  /** A stable name such as "unknown_key". */
  readonly code: ProblemCode;
  /** Absent only when no single place is to blame, such as a file that cannot be read. */
  readonly place: Place | undefined;
  /** Dotted path of the key, such as receivers.otlp.protocols.http.endpoint. */
  readonly path: string;
  /** What is wrong and what was expected. Never contains a secret. */
  readonly message: string;
  /** What to write instead, when that can be guessed: `did you mean "endpoint"?` */
  readonly suggestion?: string;
}

/** What is wrong and what to write instead, in one line. */
export function problemMessage({ message, suggestion }: Problem): string {
  return suggestion === undefined ? message : `${message} (${suggestion})`;
}

/** A problem on one line: its place, its path, what is wrong, and what to write instead. */
export function problemLine(problem: Problem): string {
  const { place, path } = problem;
  const where = [place && placeText(place), path].filter(Boolean).join(" ");
  return `${where === "" ? "" : `${where}: `}${problemMessage(problem)}`;
}
