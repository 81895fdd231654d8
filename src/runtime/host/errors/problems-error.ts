import { type Problem, problemLine } from "#config";

/**
 * An error that is about a config and not about code: its message is the problems, a line each. Its stack is that of
 * whoever asked for what failed: where nobody catches it, nothing of what is inside Sluice is printed.
 */
export class ProblemsError extends Error {
  declare readonly problems: readonly Problem[];

  constructor(headline: string, problems: readonly Problem[], options?: { cause?: unknown }) {
    super([headline, ...problems.map(lineOf)].filter(Boolean).join("\n"), options);
    // The message has them already: printed with the other properties they would be there twice.
    Object.defineProperty(this, "problems", { value: problems, enumerable: false });
  }
}

/** Warnings stand among the errors, in the order of the text, and are not what the config fails for. */
function lineOf(problem: Problem): string {
  return `${problem.severity === "warning" ? "warning: " : ""}${problemLine(problem)}`;
}

/** The stack of whoever calls this function, asked for in its first line, as a text without a message. */
export function callerStack(called: (...args: never[]) => unknown): string {
  const holder = { stack: "" };
  Error.captureStackTrace(holder, called);
  return holder.stack.slice(holder.stack.indexOf("\n    at "));
}

/** The error as if it was thrown where the stack is. */
export function thrownTo<E extends ProblemsError>(stack: string, error: E): E {
  error.stack = `${error.name}: ${error.message}${stack}`;
  return error;
}
