import type { ProblemCode } from "./problem-codes.js";

/** A place in a source. Lines and columns count from 1. */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** `gateway.yaml:3:7`, which terminals and editors turn into links. */
export function placeText({ file, line, column }: Place): string {
  return `${file}:${line}:${column}`;
}

/** An error or a warning about a config, with everything needed to fix it. */
export interface Problem {
  readonly severity: "error" | "warning";
  /** A stable name such as "unknown_key". */
  readonly code: ProblemCode;
  /** Absent only when there is no single place, such as for a file that cannot be read. */
  readonly place: Place | undefined;
  /** Dotted path of the key, such as receivers.otlp.protocols.http.endpoint. */
  readonly path: string;
  /** Says what is wrong and what was expected. Never contains a secret. */
  readonly message: string;
  /** A guess at what to write instead: `did you mean "endpoint"?` */
  readonly suggestion?: string;
}

/** Message and suggestion on one line. */
export function problemMessage({ message, suggestion }: Problem): string {
  return suggestion === undefined ? message : `${message} (${suggestion})`;
}

/** A problem on one line: place, path, message and suggestion. */
export function problemLine(problem: Problem): string {
  const { place, path } = problem;
  const where = [place && placeText(place), path].filter(Boolean).join(" ");
  return `${where === "" ? "" : `${where}: `}${problemMessage(problem)}`;
}
