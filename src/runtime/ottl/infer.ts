import type { Signal } from "../telemetry/signal.js";
import { type Condition, compileCondition, compileStatement, type Statement } from "./compiled.js";
import type { ContextName } from "./context.js";
import { isOttlSyntaxError } from "./error.js";
import { tokenize } from "./lexer.js";

/** The contexts of a signal, from the outermost to the innermost. */
export const SIGNAL_CONTEXTS: Readonly<Record<Signal, readonly ContextName[]>> = {
  logs: ["resource", "scope", "log"],
  traces: ["resource", "scope", "span", "spanevent"],
  metrics: ["resource", "scope", "metric", "datapoint"],
};

export interface CompiledGroup {
  readonly context: ContextName;
  readonly statements: readonly Statement[];
  readonly conditions: readonly Condition[];
}

/** A text of a group that does not compile: which list it is in, and where there. */
export interface GroupFailure {
  readonly list: "statements" | "conditions";
  readonly index: number;
  readonly error: unknown;
}

/**
 * Compiles texts that share a context which nobody has named. It is the innermost one that their paths begin with, or
 * else the first from there inwards in which all of them compile. When there is none, the failure in the most likely
 * one is given.
 */
export function compileInferred(
  signal: Signal,
  statements: readonly string[],
  conditions: readonly string[],
): CompiledGroup | GroupFailure {
  const contexts = SIGNAL_CONTEXTS[signal];
  const innermost = Math.max(0, ...[...statements, ...conditions].map((text) => deepest(text, contexts)));
  const candidates = [...contexts.slice(innermost), ...contexts.slice(0, innermost).reverse()];
  const results = candidates.map((context) => compileIn(context, statements, conditions));
  return results.find((result) => "context" in result) ?? results[0]!;
}

/** Compiles texts in a context; stops at the first that does not. */
export function compileIn(
  context: ContextName,
  statements: readonly string[],
  conditions: readonly string[],
): CompiledGroup | GroupFailure {
  const compiled = all("statements", statements, (text) => compileStatement(text, context));
  if ("error" in compiled) return compiled;
  const tests = all("conditions", conditions, (text) => compileCondition(text, context));
  if ("error" in tests) return tests;
  return { context, statements: compiled.done, conditions: tests.done };
}

function all<T>(
  list: GroupFailure["list"],
  texts: readonly string[],
  compile: (text: string) => T,
): { done: T[] } | GroupFailure {
  const done: T[] = [];
  for (const [index, text] of texts.entries()) {
    try {
      done.push(compile(text));
    } catch (error) {
      if (!isOttlSyntaxError(error)) throw error;
      return { list, index, error };
    }
  }
  return { done };
}

/** Index of the innermost context whose name stands in front of a dot in the text; -1 when there is none. */
function deepest(text: string, contexts: readonly ContextName[]): number {
  try {
    const tokens = tokenize(text);
    const named = tokens.map(({ kind, text: name }, i) => {
      const prefix = kind === "word" && tokens[i + 1]?.text === "." && tokens[i - 1]?.text !== ".";
      if (!prefix) return -1;
      return contexts.indexOf((name === "instrumentation_scope" ? "scope" : name) as ContextName);
    });
    return Math.max(-1, ...named);
  } catch {
    return -1;
  }
}

/** What zod is told of a text that does not compile; the config reader makes line and column of `params`. */
export function ottlIssue(error: unknown, path: readonly (string | number)[]) {
  if (!isOttlSyntaxError(error)) throw error;
  const { message, offset, length, suggestion } = error;
  return { code: "custom" as const, message, path: [...path], params: { offset, length, suggestion } };
}
