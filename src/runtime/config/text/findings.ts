import type { ConfigPath } from "#contract/schema";
import { placeOf, type Span } from "./node.js";
import type { Problem } from "./problem.js";
import type { ProblemCode } from "./problem-codes.js";

/** The problems found so far; every check adds to it and goes on. */
export class Findings {
  readonly problems: Problem[] = [];

  error(
    code: ProblemCode,
    span: Span | undefined,
    path: ConfigPath,
    message: string,
    extra: { suggestion?: string } = {},
  ): void {
    this.add("error", code, span, path, message, extra);
  }

  warn(
    code: ProblemCode,
    span: Span | undefined,
    path: ConfigPath,
    message: string,
    extra: { suggestion?: string } = {},
  ): void {
    this.add("warning", code, span, path, message, extra);
  }

  get hasErrors(): boolean {
    return this.problems.some((problem) => problem.severity === "error");
  }

  /** Whether something is wrong at a path or below it: what follows from that need not be said. */
  hasErrorAt(path: ConfigPath): boolean {
    const at = path.join(".");
    return this.problems.some(
      (problem) => problem.severity === "error" && (problem.path === at || problem.path.startsWith(`${at}.`)),
    );
  }

  private add(
    severity: Problem["severity"],
    code: ProblemCode,
    span: Span | undefined,
    path: ConfigPath,
    message: string,
    extra: { suggestion?: string },
  ): void {
    const place = span && placeOf(span);
    this.problems.push({ severity, code, place, path: path.join("."), message, ...extra });
  }
}
