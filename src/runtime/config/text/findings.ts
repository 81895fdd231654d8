import type { ConfigPath } from "#contract/schema";
import { placeOf, type Span } from "./node.js";
import type { Problem } from "./problem.js";
import type { ProblemCode } from "./problem-codes.js";

/** Collects problems, so that every check can report and continue. */
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

  /** Whether there is an error at a path or below it. Problems that follow from it need not be reported. */
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
