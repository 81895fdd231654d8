import type { Signal } from "#otlp/signals";
import { type ContextName, contextNamed, SIGNAL_CONTEXTS } from "../paths/context.js";
import { isOttlSyntaxError } from "../values/error.js";
import type { CompiledGroup, GroupFailure } from "./infer-context.js";

/** A place in a component's config. */
type IssuePath = readonly (string | number)[];

/** The zod issue for a text that does not compile. */
export type OttlIssue = ReturnType<typeof ottlIssue>;

/** The part of zod's `addIssue` needed here. */
export type AddOttlIssue = (issue: OttlIssue | { code: "custom"; message: string; path: (string | number)[] }) => void;

/**
 * Compiles the texts of a list in a config one by one. A text that does not compile becomes an issue at its place and
 * is left out.
 */
export function compileEach(
  texts: readonly string[] | null | undefined,
  compile: (text: string) => CompiledGroup | GroupFailure,
  placeOf: (index: number) => IssuePath,
  addIssue: AddOttlIssue,
): CompiledGroup[] {
  return (texts ?? []).flatMap((text, i) => {
    const result = compile(text);
    if ("context" in result) return [result];
    addIssue(ottlIssue(result.error, placeOf(i)));
    return [];
  });
}

/**
 * The context that a group of texts names, in any case; its `context` is undefined if it names none. A name that the
 * signal does not have becomes an issue, and the result is undefined.
 */
export function contextOfGroup(
  signal: Signal,
  name: string | undefined,
  path: IssuePath,
  addIssue: AddOttlIssue,
): { readonly context: ContextName | undefined } | undefined {
  const context = contextNamed(signal, name ?? "");
  if (!name || context !== undefined) return { context };
  const message = `expected one of ${SIGNAL_CONTEXTS[signal].join(", ")}`;
  addIssue({ code: "custom", message, path: [...path, "context"] });
  return undefined;
}

/** The zod issue for a text that does not compile; the config reader computes line and column from `params`. */
export function ottlIssue(error: unknown, path: readonly (string | number)[]) {
  if (!isOttlSyntaxError(error)) throw error;
  const { reason, offset, length, suggestion } = error;
  return { code: "custom" as const, message: reason, path: [...path], params: { offset, length, suggestion } };
}
