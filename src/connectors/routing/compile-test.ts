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

/** The condition of a route for records of one signal, and the statement that edits matching records. */
export interface RecordTest {
  readonly condition: Condition;
  readonly editor: Statement | undefined;
}

export type RecordTests = Readonly<Partial<Record<Signal, RecordTest>>>;

/**
 * Compiles a condition for the signals that have its context. Without a context, the paths decide, or else it is the
 * resource.
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

/** Paths without a context refer to the resource wherever possible. */
function compileInferredOrResource(...texts: Parameters<typeof compileInferred>): ReturnType<typeof compileInferred> {
  const result = compileInferred(...texts);
  if ("context" in result) return result;
  const ofResource = compileIn("resource", texts[1], texts[2]);
  return "context" in ofResource ? ofResource : result;
}

/** The parts of a route's text. `offset` is where the condition begins. */
interface RouteText {
  readonly condition: string;
  /** A statement that edits matching records; undefined for the plain `route()`. */
  readonly editor: string | undefined;
  readonly offset: number;
}

/**
 * Splits `route() where ...`. An editor such as `delete_key(...)` in place of `route()` also edits the routed records.
 */
export function splitStatement(text: string): RouteText {
  const [, head = "", rest] = SPLIT_AT_WHERE.exec(text)!;
  const isRoute = /^\s*route\s*\(\s*\)\s*$/.test(head);
  if (rest === undefined) return { condition: "true", editor: isRoute ? undefined : text, offset: 0 };
  return { condition: rest, editor: isRoute ? undefined : text, offset: text.length - rest.length };
}

// Linear: the pattern always matches, so it never backtracks.
const SPLIT_AT_WHERE = /^((?:"(?:[^"\\]|\\.)*"|(?!\bwhere\b).)*)(?:where\b(.*))?/s;

function recordTestOf({ conditions, statements }: CompiledGroup): RecordTest {
  return { condition: conditions[0]!, editor: statements[0] };
}

function shiftIssue(error: unknown, offset: number, path: readonly (string | number)[]): OttlIssue {
  const issue = ottlIssue(error, path);
  return { ...issue, params: { ...issue.params, offset: issue.params.offset + offset } };
}

/** Returns the issue of the signal for which the text was understood furthest, which probably is the intended one. */
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
