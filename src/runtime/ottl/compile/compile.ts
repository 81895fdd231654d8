import { FUNCTIONS } from "../functions/table.js";
import type { ContextName } from "../paths/context.js";
import type { PathTable } from "../paths/path-table.js";
import { PATHS } from "../paths/paths.js";
import type { RecordContext } from "../paths/record-context.js";
import { parseCondition, parseStatement } from "../syntax/parser.js";
import { AstCompiler } from "./ast-compiler.js";

/** A compiled condition. It holds no state, so one serves any number of walks. */
export interface Condition {
  readonly text: string;
  readonly context: ContextName;
  /** Throws an `OttlError` if it cannot be decided. */
  matches(ctx: RecordContext): boolean;
}

/** A compiled statement. */
export interface Statement {
  readonly text: string;
  readonly context: ContextName;
  /** Edits the current record if its `where` holds, and returns whether it did. Throws an `OttlError`. */
  execute(ctx: RecordContext): boolean;
}

/**
 * Throws an `OttlSyntaxError` with the offset in the text. `morePaths` are known in addition to those of the context.
 */
export function compileCondition(text: string, context: ContextName, morePaths?: PathTable): Condition {
  const matches = compilerFor(context, morePaths).condition(parseCondition(text));
  return { text, context, matches };
}

/** Throws an `OttlSyntaxError` with the offset in the text. */
export function compileStatement(text: string, context: ContextName): Statement {
  const execute = compilerFor(context).statement(parseStatement(text));
  return { text, context, execute };
}

/** The compiler of a context, with all functions and the context's paths. */
export function compilerFor(context: ContextName, morePaths?: PathTable): AstCompiler {
  const paths = morePaths === undefined ? PATHS[context] : { ...PATHS[context], ...morePaths };
  return new AstCompiler(context, FUNCTIONS, paths);
}
