import type { ContextName } from "../paths/context.js";
import type { Getter, MayMatch, PathAccess } from "../paths/path-access.js";
import type { RecordContext } from "../paths/record-context.js";
import type { OttlDuration, OttlMap, OttlTime, OttlValue } from "../values/value.js";
import type { Pattern } from "./text/pattern.js";

/**
 * The kinds of arguments. Types in capital letters must be literals, because they are needed before there is data;
 * `path` and `map path` are places that are changed; `pattern` and `glob` are text that is compiled, at compile time if
 * it is a literal; `converter` is the name of one, and `lambda` a function written in place: (key, value) => value > 1.
 */
type ParameterType =
  | "any"
  | "string"
  | "int"
  | "bool"
  | "map"
  | "list"
  | "time"
  | "duration"
  | "STRING"
  | "INT"
  | "BOOL"
  | "any[]"
  | "string[]"
  | "STRING[]"
  | "pattern"
  | "glob"
  | "path"
  | "map path"
  | "converter"
  | "DOUBLE"
  | "DOUBLE[]"
  | "lambda";

export interface Parameter {
  readonly name: string;
  readonly type: ParameterType;
  readonly optional?: boolean;
  /** Another name for the argument. */
  readonly alias?: string;
}

/** A function of the language: the single description for parsing, errors and the reference. */
export interface FunctionSpec {
  readonly name: string;
  readonly parameters: readonly Parameter[];
  /** The type it returns; "" for an editor. */
  readonly returns: string;
  /** A sentence or two for the reference. */
  readonly summary: string;
  readonly example: string;
  /** Where it can be used; everywhere if absent. */
  readonly contexts?: readonly ContextName[];
  compile(args: CallArguments): Getter;
}

/**
 * The arguments of one call, checked against the parameters: text(...) and similar methods return functions that throw
 * an `OttlError` if the value has another type. Methods for optional parameters take a default.
 */
export interface CallArguments {
  has(name: string): boolean;
  any(name: string): Getter;
  text(name: string): (ctx: RecordContext) => string;
  int(name: string): (ctx: RecordContext) => bigint;
  map(name: string): (ctx: RecordContext) => OttlMap;
  list(name: string): (ctx: RecordContext) => OttlValue[];
  time(name: string): (ctx: RecordContext) => OttlTime;
  duration(name: string): (ctx: RecordContext) => OttlDuration;
  items(name: string): readonly Getter[];
  texts(name: string): readonly ((ctx: RecordContext) => string)[];
  pattern(name: string): (ctx: RecordContext) => Pattern;
  /** For the target of a pattern that is a literal: tells in most cases without decoding that there is no match. */
  mayMatch(name: string, pattern: string): MayMatch | undefined;
  path(name: string): PathAccess;
  converter(name: string): ((ctx: RecordContext, input: OttlValue) => OttlValue) | undefined;
  /** A lambda with this number of parameters. */
  lambda(name: string, arity: number): Lambda;
  literalDouble(name: string): number;
  literalDoubles(name: string): readonly number[];
  literalText(name: string, otherwise?: string): string;
  literalInt(name: string, otherwise?: bigint): bigint;
  literalBool(name: string, otherwise?: boolean): boolean;
  literalTexts(name: string): readonly string[];
  /** The texts of a list if all of them are literals. */
  constantTexts(name: string): readonly string[] | undefined;
  /** Whether the argument is a map literal. */
  isMapLiteral(name: string): boolean;
  isListLiteral(name: string): boolean;
  /** The value if it is a literal. */
  constant(name: string): OttlValue | undefined;
  /** Rejects an argument at compile time, at its place. */
  reject(name: string, why: string): never;
}

/** A function written as an argument. A condition as its body returns a bool. */
export type Lambda = (ctx: RecordContext, ...values: OttlValue[]) => OttlValue;

/** `name(target, limit, [marker])` as a person would write it. */
export function signature(spec: FunctionSpec): string {
  const parameters = spec.parameters.map(({ name, optional }) => (optional ? `[${name}]` : name));
  return `${spec.name}(${parameters.join(", ")})`;
}

/**
 * Parses notations such as `target: map path`, with a question mark after optional parameters, and `target|value` if
 * both names are known.
 */
export function parameters(...written: readonly string[]): Parameter[] {
  return written.map((text) => {
    const [written, type] = text.split(": ") as [string, ParameterType];
    const [name, alias] = written.replace("?", "").split("|") as [string, string?];
    return { name, type, ...(written.endsWith("?") && { optional: true }), ...(alias !== undefined && { alias }) };
  });
}
