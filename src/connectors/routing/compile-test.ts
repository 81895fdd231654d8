import {
  CONTEXT_SIGNALS,
  CONTEXTS_INSIDE_RECORDS,
  type CompiledGroup,
  type Condition,
  type ContextName,
  compileIn,
  compileInferred,
  type OttlIssue,
  ottlIssue,
  type Statement,
} from "#ottl";
import { SIGNALS, type Signal } from "../../plugin.js";

/** What a route asks of records of one signal, and what it does to those that it takes. */
export interface RecordTest {
  readonly condition: Condition;
  readonly editor: Statement | undefined;
}

export type RecordTests = Readonly<Partial<Record<Signal, RecordTest>>>;

/**
 * Compiles a condition for the signals that have its context. Without a context it is the one that its paths name, or
 * else the resource.
 */
export function compileTest(
  { condition, editor, offset }: RouteText,
  context: ContextName | undefined,
  path: readonly (string | number)[],
): RecordTests | OttlIssue {
  const statements = editor === undefined ? [] : [editor];
  const tests: Partial<Record<Signal, RecordTest>> = {};
  const issues: OttlIssue[] = [];
  for (const signal of context === undefined ? SIGNALS : CONTEXT_SIGNALS[context]) {
    const result =
      context === undefined
        ? compileInferredOrResource(signal, statements, [condition])
        : compileIn(context, statements, [condition]);
    if ("error" in result) issues.push(shiftIssue(result.error, result.list === "conditions" ? offset : 0, path));
    else if (!CONTEXTS_INSIDE_RECORDS.has(result.context)) tests[signal] = recordTestOf(result);
  }
  return Object.keys(tests).length > 0 ? tests : furthestIssue(issues, path);
}

/** Paths that name no context are the resource's wherever they can be. */
function compileInferredOrResource(...texts: Parameters<typeof compileInferred>): ReturnType<typeof compileInferred> {
  const result = compileInferred(...texts);
  if ("context" in result) return result;
  const ofResource = compileIn("resource", texts[1], texts[2]);
  return "context" in ofResource ? ofResource : result;
}

/** A route's text in parts; `offset` is where in it the condition begins. */
interface RouteText {
  readonly condition: string;
  /** A statement that edits what it matches; undefined for the plain `route()`. */
  readonly editor: string | undefined;
  readonly offset: number;
}

/** `route() where ...`; with an editor such as `delete_key(...)` for `route()`, what is routed is edited too. */
export function splitStatement(text: string): RouteText {
  const [, head, rest] = SPLIT_AT_WHERE.exec(text)!;
  const isRoute = /^\s*route\s*\(\s*\)\s*$/.test(head!);
  if (rest === undefined) return { condition: "true", editor: isRoute ? undefined : text, offset: 0 };
  return { condition: rest, editor: isRoute ? undefined : text, offset: text.length - rest.length };
}

/** It never fails, so it never goes back over the text. */
const SPLIT_AT_WHERE = /^((?:"(?:[^"\\]|\\.)*"|(?!\bwhere\b).)*)(?:where\b(.*))?/s;

function recordTestOf({ conditions, statements }: CompiledGroup): RecordTest {
  return { condition: conditions[0]!, editor: statements[0] };
}

function shiftIssue(error: unknown, offset: number, path: readonly (string | number)[]): OttlIssue {
  const issue = ottlIssue(error, path);
  return { ...issue, params: { ...issue.params, offset: issue.params.offset + offset } };
}

/** Of several signals the one in which the text was understood longest is probably meant. */
function furthestIssue(issues: readonly OttlIssue[], path: readonly (string | number)[]): OttlIssue {
  const [best] = issues.toSorted((a, b) => b.params.offset - a.params.offset);
  return (
    best ?? {
      code: "custom",
      message: SPAN_EVENTS_NOT_ROUTED,
      path: [...path],
      params: { offset: 0, length: 1, suggestion: undefined },
    }
  );
}

const SPAN_EVENTS_NOT_ROUTED = "span events are not routed apart from their spans";
