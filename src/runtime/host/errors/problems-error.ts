import { type Problem, problemLine } from "#config/text";

/**
 * An error about a config, not about code: its message lists the problems, one per line. Its stack is that of the
 * caller, so an uncaught one prints nothing of Sluice's internals.
 */
export class ProblemsError extends Error {
  declare readonly problems: readonly Problem[];

  constructor(headline: string, problems: readonly Problem[], options?: { cause?: unknown }) {
    super([headline, ...problems.map(lineOf)].filter(Boolean).join("\n"), options);
    // Not enumerable: the message already lists the problems, so printing the error would show them twice.
    Object.defineProperty(this, "problems", { value: problems, enumerable: false });
  }
}

/** Warnings are listed among the errors, in the order of the text, although they do not make the config fail. */
function lineOf(problem: Problem): string {
  return `${problem.severity === "warning" ? "warning: " : ""}${problemLine(problem)}`;
}

/** The stack of the caller of `called`, without a message. Call this in the first line of that function. */
export function callerStack(called: (...args: never[]) => unknown): string {
  const holder = { stack: "" };
  Error.captureStackTrace(holder, called);
  return holder.stack.slice(holder.stack.indexOf("\n    at "));
}

/** Gives the error another stack, as if it was thrown there. */
export function thrownTo<E extends ProblemsError>(stack: string, error: E): E {
  error.stack = `${error.name}: ${error.message}${stack}`;
  return error;
}
