import { alternatives, didYouMean } from "#contract/schema";
import {
  type CallArguments,
  type FunctionSpec,
  type Lambda,
  type Parameter,
  signature,
} from "../functions/function-spec.js";
import { cachedPattern, compileGlob, compilePattern, type Pattern } from "../functions/text/pattern.js";
import type { Getter, MayMatch, PathAccess } from "../paths/path-access.js";
import type { RecordContext } from "../paths/record-context.js";
import type { Argument, AstNode, CallNode, LambdaNode } from "../syntax/ast.js";
import { isValueError, OttlError, OttlSyntaxError } from "../values/error.js";
import { isMap, OttlDuration, type OttlMap, OttlTime, type OttlValue, typeName } from "../values/value.js";

/** The compiler functions that binding needs. */
export interface Compiler {
  value(node: AstNode): Getter;
  /** Compiles a path that is changed. */
  path(node: AstNode): PathAccess;
  /** The value if it is known at compile time: a literal, or an enum name such as SPAN_KIND_SERVER. */
  constant(node: AstNode): OttlValue | undefined;
  converter(name: string, node: AstNode): (input: Getter) => Getter;
  lambda(node: LambdaNode): Lambda;
  /** Undefined if it takes decoding the value to tell. */
  mayMatch(node: AstNode): MayMatch | undefined;
}

/**
 * Binds the arguments of a call to the parameters of its function. Throws at the place of the first that does not fit.
 */
export function bindArguments(spec: FunctionSpec, call: CallNode, compiler: Compiler): CallArguments {
  return new BoundArguments(spec, assignArguments(spec, call), call, compiler);
}

function assignArguments(spec: FunctionSpec, call: CallNode): Map<string, Argument> {
  const assigned = new Map<string, Argument>();
  let named = false;
  call.arguments.forEach((argument, i) => {
    const length = argument.end - argument.at;
    if (argument.name === undefined && named)
      throw new OttlSyntaxError("an argument without a name cannot follow one with a name", argument.at, length);
    named ||= argument.name !== undefined;
    const parameter = argument.name === undefined ? spec.parameters[i] : parameterNamed(spec, argument);
    if (parameter === undefined)
      throw new OttlSyntaxError(`too many arguments: it is ${signature(spec)}`, argument.at, length);
    if (assigned.has(parameter.name))
      throw new OttlSyntaxError(`the argument ${parameter.name} is given twice`, argument.at, length);
    assigned.set(parameter.name, argument);
  });
  const missing = spec.parameters.find(({ name, optional }) => !optional && !assigned.has(name));
  if (missing !== undefined)
    throw new OttlSyntaxError(
      `the argument ${missing.name} is missing: it is ${signature(spec)}`,
      call.at,
      call.end - call.at,
    );
  return assigned;
}

function parameterNamed(spec: FunctionSpec, argument: Argument): Parameter {
  const written = comparable(argument.name!);
  const found = spec.parameters.find(
    ({ name, alias }) => comparable(name) === written || (alias !== undefined && comparable(alias) === written),
  );
  if (found !== undefined) return found;
  const names = spec.parameters.map(({ name }) => name);
  throw new OttlSyntaxError(
    `${spec.name} has no argument ${argument.name}; it has ${alternatives(names) || "none"}`,
    argument.at,
    argument.name!.length,
    didYouMean(argument.name!, names).suggestion,
  );
}

/** Makes `sourceIP`, `source_ip` and `SourceIp` equal. */
function comparable(name: string): string {
  return name.replaceAll("_", "").toLowerCase();
}

class BoundArguments implements CallArguments {
  private readonly spec: FunctionSpec;
  private readonly assigned: ReadonlyMap<string, Argument>;
  private readonly call: CallNode;
  private readonly compiler: Compiler;

  constructor(spec: FunctionSpec, assigned: ReadonlyMap<string, Argument>, call: CallNode, compiler: Compiler) {
    this.spec = spec;
    this.assigned = assigned;
    this.call = call;
    this.compiler = compiler;
  }

  has(name: string): boolean {
    return this.assigned.has(name);
  }

  any(name: string): Getter {
    return this.compiler.value(this.node(name));
  }

  text(name: string): (ctx: RecordContext) => string {
    return this.typed(name, "string", (value): value is string => typeof value === "string");
  }

  int(name: string): (ctx: RecordContext) => bigint {
    return this.typed(name, "int", (value): value is bigint => typeof value === "bigint");
  }

  map(name: string): (ctx: RecordContext) => OttlMap {
    return this.typed(name, "map", isMap);
  }

  list(name: string): (ctx: RecordContext) => OttlValue[] {
    return this.typed(name, "list", (value): value is OttlValue[] => Array.isArray(value));
  }

  time(name: string): (ctx: RecordContext) => OttlTime {
    return this.typed(name, "time", (value): value is OttlTime => value instanceof OttlTime);
  }

  duration(name: string): (ctx: RecordContext) => OttlDuration {
    return this.typed(name, "duration", (value): value is OttlDuration => value instanceof OttlDuration);
  }

  items(name: string): readonly Getter[] {
    return this.listNode(name).map((item) => this.compiler.value(item));
  }

  texts(name: string): readonly ((ctx: RecordContext) => string)[] {
    return this.listNode(name).map((item) =>
      this.check(item, "string", (value): value is string => typeof value === "string"),
    );
  }

  pattern(name: string): (ctx: RecordContext) => Pattern {
    const glob = this.parameter(name).type === "glob";
    const literal = this.constant(name);
    if (typeof literal !== "string") {
      const text = this.text(name);
      return (ctx) => (glob ? compileGlob(text(ctx)) : cachedPattern(text(ctx)));
    }
    try {
      const pattern = glob ? compileGlob(literal) : compilePattern(literal);
      return () => pattern;
    } catch (error) {
      if (isValueError(error)) this.reject(name, error.message);
      throw error;
    }
  }

  mayMatch(name: string, pattern: string): MayMatch | undefined {
    return typeof this.constant(pattern) === "string" ? this.compiler.mayMatch(this.node(name)) : undefined;
  }

  path(name: string): PathAccess {
    return this.compiler.path(this.node(name));
  }

  converter(name: string): ((ctx: RecordContext, input: OttlValue) => OttlValue) | undefined {
    if (!this.has(name)) return undefined;
    const node = this.node(name);
    if (node.kind !== "name") return this.reject(name, "expected the name of a converter, such as SHA256");
    let current: OttlValue = null;
    const convert = this.compiler.converter(node.name, node)(() => current);
    return (ctx, input) => {
      current = input;
      return convert(ctx);
    };
  }

  lambda(name: string, arity: number): Lambda {
    const node = this.node(name);
    if (node.kind !== "lambda") return this.reject(name, `expected a lambda, such as ${EXAMPLE_LAMBDAS[arity]}`);
    if (node.parameters.length !== arity)
      this.reject(name, `expected a lambda of ${arity} parameters, such as ${EXAMPLE_LAMBDAS[arity]}`);
    return this.compiler.lambda(node);
  }

  literalDouble(name: string): number {
    return this.doubleOf(this.node(name));
  }

  literalDoubles(name: string): readonly number[] {
    return this.listNode(name).map((item) => this.doubleOf(item));
  }

  literalText(name: string, defaultValue?: string): string {
    return this.literal(name, "string", "a string in double quotes", defaultValue);
  }

  literalInt(name: string, defaultValue?: bigint): bigint {
    return this.literal(name, "bigint", "an integer", defaultValue);
  }

  literalBool(name: string, defaultValue?: boolean): boolean {
    return this.literal(name, "boolean", "true or false", defaultValue);
  }

  literalTexts(name: string): readonly string[] {
    if (!this.has(name)) return [];
    return this.listNode(name).map((item) => {
      if (item.kind === "literal" && typeof item.value === "string") return item.value;
      throw new OttlSyntaxError("expected a string in double quotes", item.at, item.end - item.at);
    });
  }

  constantTexts(name: string): readonly string[] | undefined {
    const texts = this.listNode(name).map((item) => (item.kind === "literal" ? item.value : undefined));
    return texts.every((text) => typeof text === "string") ? texts : undefined;
  }

  isMapLiteral(name: string): boolean {
    return this.node(name).kind === "map";
  }

  isListLiteral(name: string): boolean {
    return this.node(name).kind === "list";
  }

  constant(name: string): OttlValue | undefined {
    const node = this.assigned.get(name)?.value;
    return node && this.compiler.constant(node);
  }

  reject(name: string, why: string): never {
    const { at, end } = this.assigned.get(name)?.value ?? this.call;
    throw new OttlSyntaxError(why, at, end - at);
  }

  private node(name: string): AstNode {
    return this.assigned.get(name)!.value;
  }

  private doubleOf(node: AstNode): number {
    if (node.kind === "literal" && isNumeric(node.value)) return Number(node.value);
    throw new OttlSyntaxError("expected a number", node.at, node.end - node.at);
  }

  private parameter(name: string): Parameter {
    return this.spec.parameters.find((parameter) => parameter.name === name)!;
  }

  private listNode(name: string): readonly AstNode[] {
    const node = this.node(name);
    if (node.kind !== "list") return this.reject(name, 'expected a list, such as ["a", "b"]');
    return node.items;
  }

  private typed<T extends OttlValue>(name: string, type: string, isType: (value: OttlValue) => value is T) {
    return this.check(this.node(name), type, isType, name);
  }

  /** A literal of the wrong type is rejected at compile time, other values when they are evaluated. */
  private check<T extends OttlValue>(
    node: AstNode,
    type: string,
    isType: (value: OttlValue) => value is T,
    name = "",
  ): (ctx: RecordContext) => T {
    const constant = this.compiler.constant(node);
    if (constant !== undefined && !isType(constant))
      throw new OttlSyntaxError(`expected ${type}, got ${typeName(constant)}`, node.at, node.end - node.at);
    if ((node.kind === "list" && type !== "list") || (node.kind === "map" && type !== "map"))
      throw new OttlSyntaxError(`expected ${type}, got ${node.kind}`, node.at, node.end - node.at);
    const get = this.compiler.value(node);
    const where = name === "" ? this.spec.name : `${this.spec.name}, ${name}`;
    return (ctx) => {
      const value = get(ctx);
      if (isType(value)) return value;
      throw new OttlError(`${where}: expected ${type}, got ${typeName(value)}`);
    };
  }

  private literal<T extends OttlValue>(name: string, type: string, what: string, defaultValue: T | undefined): T {
    if (!this.has(name) && defaultValue !== undefined) return defaultValue;
    const node = this.assigned.get(name)?.value;
    const value = node?.kind === "literal" ? node.value : undefined;
    if (typeof value !== type) return this.reject(name, `expected ${what}`);
    return value as T;
  }
}

function isNumeric(value: OttlValue): value is number | bigint {
  return typeof value === "number" || typeof value === "bigint";
}

const EXAMPLE_LAMBDAS = [
  "() => true",
  "(value) => value",
  "(key, value) => value > 1",
  "(sum, key, value) => sum + value",
];
