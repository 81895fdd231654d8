import { alternatives } from "#contract/schema";
import type { Signal } from "#otlp/signals";
import { CONTEXTS, type ContextName, RECORD_CONTEXTS, SIGNAL_CONTEXTS } from "../paths/context.js";
import { type Token, tokenize } from "../syntax/lexer.js";
import { KEYWORDS } from "../syntax/parser.js";
import { isOttlSyntaxError, OttlSyntaxError } from "../values/error.js";
import { type Condition, compileCondition, compileStatement, type Statement } from "./compile.js";

/** Texts that were compiled together, and their context. */
export interface CompiledGroup {
  readonly context: ContextName;
  readonly statements: readonly Statement[];
  readonly conditions: readonly Condition[];
}

/** A text of a group that does not compile: its list and its index there. */
export interface GroupFailure {
  readonly list: "statements" | "conditions";
  readonly index: number;
  readonly error: unknown;
}

/**
 * Compiles texts that share an unnamed context. The context is the innermost one that their paths begin with, or else
 * the first one further in where all of them compile. If there is none, returns the failure in the most likely context.
 * If no path begins with a context and more than one would do, the texts are rejected: `attributes` alone may be the
 * record's or the resource's. Exemplars count only if they are named. The paths of `otherTexts` count too, but those
 * texts are not compiled.
 */
export function compileInferred(
  signal: Signal,
  statements: readonly string[],
  conditions: readonly string[],
  otherTexts: readonly string[] = [],
): CompiledGroup | GroupFailure {
  const texts = [...statements, ...conditions, ...otherTexts];
  const all = SIGNAL_CONTEXTS[signal];
  const hints = texts.map((text) => innermostContextIndex(text, all));
  const innermost = Math.max(0, ...hints);
  if (innermost > 0 || hints.includes(0)) {
    const failure = ambiguousPathFailure(statements, conditions, all.slice(0, innermost + 1));
    if (failure !== undefined) return failure;
  }
  const contexts = innermost === all.indexOf("exemplar") ? all : all.filter((context) => context !== "exemplar");
  const candidates = [...contexts.slice(innermost), ...contexts.slice(0, innermost).reverse()];
  const results = candidates.map((context) => compileIn(context, statements, conditions));
  const compiled = results.filter((result) => "context" in result);
  if (compiled.length > 1 && hints.every((hint) => hint < 0))
    return (
      ambiguousPathFailure(
        statements,
        conditions,
        compiled.map(({ context }) => context),
      ) ?? compiled[0]!
    );
  return compiled[0] ?? (hints.every((hint) => hint < 0) ? likeliestFailure(signal, candidates, results) : results[0]!);
}

/**
 * Picks one of the failures in all contexts if nothing names the context: one with a suggestion, or else the record's.
 */
function likeliestFailure(
  signal: Signal,
  contexts: readonly ContextName[],
  results: readonly (CompiledGroup | GroupFailure)[],
): GroupFailure {
  const record = results[contexts.indexOf(RECORD_CONTEXTS[signal])] as GroupFailure;
  const failures = [record, ...(results as readonly GroupFailure[])];
  return failures.find(({ error }) => isOttlSyntaxError(error) && error.suggestion !== undefined) ?? record;
}

/** The failure for the first path without a context, if there is one. */
function ambiguousPathFailure(
  statements: readonly string[],
  conditions: readonly string[],
  contexts: readonly ContextName[],
): GroupFailure | undefined {
  const lists = [["statements", statements] as const, ["conditions", conditions] as const];
  for (const [list, texts] of lists) {
    for (const [index, text] of texts.entries()) {
      const path = firstPath(text);
      if (path === undefined) continue;
      const choices = alternatives(contexts.map((context) => `${context}.${path.text}`));
      const error = new OttlSyntaxError(`which ${path.text} is meant: ${choices}?`, path.at, path.text.length);
      return { list, index, error };
    }
  }
  return undefined;
}

/** The first path that begins with no context. */
function firstPath(text: string): Token | undefined {
  const tokens = tokenizeOrNothing(text);
  const parameters = lambdaParameters(tokens);
  return tokens.find(({ kind, text: word }, i) => {
    if (parameters.has(word) || tokens[i - 1]?.text === ".") return false;
    const follows = tokens[i + 1]?.text;
    if (follows === "." && PREFIXES.has(word)) return false;
    return kind === "word" && /^[a-z]/.test(word) && !KEYWORDS.has(word) && follows !== "(" && follows !== "=";
  });
}

const PREFIXES: ReadonlySet<string> = new Set([...CONTEXTS, "instrumentation_scope", "otelcol"]);

/** Returns no tokens for invalid text: compiling it reports why. */
function tokenizeOrNothing(text: string): readonly Token[] {
  try {
    return tokenize(text);
  } catch {
    return [];
  }
}

/** The names between the parentheses before each arrow. */
function lambdaParameters(tokens: readonly Token[]): ReadonlySet<string> {
  const names = new Set<string>();
  tokens.forEach(({ text }, arrow) => {
    if (text !== "=>") return;
    for (let i = arrow - 2; i >= 0 && tokens[i]!.text !== "("; i--) names.add(tokens[i]!.text);
  });
  return names;
}

/** Compiles texts in a context; stops at the first that does not compile. */
export function compileIn(
  context: ContextName,
  statements: readonly string[],
  conditions: readonly string[],
): CompiledGroup | GroupFailure {
  const compiled = compileAll("statements", statements, (text) => compileStatement(text, context));
  if ("error" in compiled) return compiled;
  const tests = compileAll("conditions", conditions, (text) => compileCondition(text, context));
  if ("error" in tests) return tests;
  return { context, statements: compiled.done, conditions: tests.done };
}

function compileAll<T>(
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

/** Index of the innermost context whose name comes before a dot in the text; -1 if there is none. */
function innermostContextIndex(text: string, contexts: readonly ContextName[]): number {
  const tokens = tokenizeOrNothing(text);
  const named = tokens.map(({ kind, text: name }, i) => {
    const prefix = kind === "word" && tokens[i + 1]?.text === "." && tokens[i - 1]?.text !== ".";
    if (!prefix) return -1;
    return contexts.indexOf((name === "instrumentation_scope" ? "scope" : name) as ContextName);
  });
  return Math.max(-1, ...named);
}
