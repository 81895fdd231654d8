import { didYouMean } from "#contract/schema";
import type { FunctionSpec, Lambda } from "../functions/function-spec.js";
import { CONTEXTS, type ContextName } from "../paths/context.js";
import { ENUMS } from "../paths/enums.js";
import { getAtKeys } from "../paths/indexing.js";
import type { Getter, MayMatch, PathAccess, PathKey } from "../paths/path-access.js";
import type { PathSpec, PathTable } from "../paths/path-table.js";
import type { RecordContext } from "../paths/record-context.js";
import type {
  AstNode,
  CallNode,
  CompareNode,
  LambdaNode,
  MathNode,
  NameNode,
  PathNode,
  StatementNode,
} from "../syntax/ast.js";
import { calculate, type MathOperator, negate } from "../values/arithmetic.js";
import { type Comparison, compare, compareDoubles } from "../values/compare.js";
import { OttlError, OttlSyntaxError } from "../values/error.js";
import { MAX_TEXT_LENGTH, textTooLong } from "../values/limits.js";
import { type OttlMap, type OttlValue, typeName } from "../values/value.js";
import { bindArguments, type Compiler } from "./bind-arguments.js";
import { ALWAYS, allOf, anyOf, attributeTest, keyTest, NEVER, negated, type Predicate } from "./predicate.js";

/**
 * Compiles syntax trees into closures that read and edit records in place. Throws an `OttlSyntaxError` with the place.
 */
export class AstCompiler implements Compiler {
  private readonly context: ContextName;
  private readonly functions: ReadonlyMap<string, FunctionSpec>;
  private readonly paths: PathTable;
  /** The parameters of the enclosing lambdas, innermost last, and their current values. */
  private readonly locals: LocalVariable[] = [];

  constructor(context: ContextName, functions: ReadonlyMap<string, FunctionSpec>, paths: PathTable) {
    this.context = context;
    this.functions = functions;
    this.paths = paths;
  }

  statement({ editor, where }: StatementNode): (ctx: RecordContext) => boolean {
    const spec = this.functionOf(editor.name, editor);
    if (!isEditor(editor.name))
      throw nodeError(
        editor,
        "is a converter, which changes nothing: a statement must begin with an editor, such as set",
      );
    const run = spec.compile(bindArguments(spec, editor, this));
    if (where === undefined) {
      return (ctx) => {
        run(ctx);
        return true;
      };
    }
    const test = this.condition(where);
    return (ctx) => {
      if (!test(ctx)) return false;
      run(ctx);
      return true;
    };
  }

  condition(node: AstNode): Predicate {
    switch (node.kind) {
      case "compare":
        return this.comparison(node);
      case "and":
        return allOf(node.operands.map((operand) => this.condition(operand)));
      case "or":
        return anyOf(node.operands.map((operand) => this.condition(operand)));
      case "not":
        return negated(this.condition(node.operand));
      case "call":
        return keyTest(node, (path) => this.access(path)) ?? this.booleanCall(node);
      case "literal":
        if (typeof node.value === "boolean") return node.value ? ALWAYS : NEVER;
    }
    const hint = node.kind === "path" ? ": compare it, for instance with == true or != nil" : "";
    throw nodeError(node, `is not a condition${hint}`);
  }

  value(node: AstNode): Getter {
    switch (node.kind) {
      case "literal": {
        const { value } = node;
        return () => value;
      }
      case "path": {
        const access = this.access(node);
        return (ctx) => access.get(ctx);
      }
      case "call":
        return this.call(node);
      case "name": {
        const value = this.enumValue(node);
        return () => value;
      }
      case "list":
        return this.list(node.items);
      case "map":
        return this.map(node.entries);
      case "math":
        return this.calculation(node);
      case "negate": {
        const operand = this.operand(node.operand);
        return (ctx) => negate(operand(ctx));
      }
    }
    if (node.kind === "lambda")
      throw nodeError(node, "is not allowed here: only functions with a lambda parameter take one");
    throw nodeError(node, "is a condition, not a value");
  }

  /** The tree of a + b - c is as deep to the left as it is long, so a loop walks it, here and for every record. */
  private calculation(node: MathNode): Getter {
    const steps: { operator: MathOperator; right: Getter }[] = [];
    let first: AstNode = node;
    for (; first.kind === "math"; first = first.left)
      steps.unshift({ operator: first.operator, right: this.operand(first.right) });
    const left = this.operand(first);
    return (ctx) => {
      let result = left(ctx);
      for (let i = 0; i < steps.length; i++) result = calculate(result, steps[i]!.operator, steps[i]!.right(ctx));
      return result;
    };
  }

  /** A value to calculate with. */
  private operand(node: AstNode): Getter {
    const isNumber = node.kind !== "literal" || typeof node.value === "bigint" || typeof node.value === "number";
    if (!isNumber || node.kind === "list" || node.kind === "map")
      throw nodeError(node, "is not a number, time or duration");
    return this.value(node);
  }

  path(node: AstNode): PathAccess {
    if (node.kind !== "path" || node.isSigned) throw nodeError(node, 'is not a path, such as attributes["key"]');
    const access = this.access(node);
    if (access.isReadOnly) throw nodeError(node, "can be read, but not changed: the list can be set as a whole");
    return access;
  }

  constant(node: AstNode): OttlValue | undefined {
    if (node.kind === "name") return ENUMS[this.context].get(node.name);
    return node.kind === "literal" ? node.value : undefined;
  }

  mayMatch(node: AstNode): MayMatch | undefined {
    return node.kind === "path" ? this.access(node).mayMatch : undefined;
  }

  private access(node: PathNode): PathAccess {
    const local = this.localAccess(node);
    if (local !== undefined) return local;
    const spec = this.pathSpec(node);
    for (const segment of node.segments.slice(0, -1)) {
      if (segment.keys.length > 0) throw nodeError(segment.keys[0]!, "cannot have a key");
    }
    const keys = node.segments.at(-1)!.keys;
    const allowed = spec.keys ?? (spec.type === "map" ? "any" : "none");
    if (keys.length > (allowed === "any" ? Number.POSITIVE_INFINITY : allowed === "one" ? 1 : 0))
      return this.listItemAccess(spec, keys);
    return spec.compile(keys.map((key) => this.key(key)));
  }

  converter(name: string, node: AstNode): (input: Getter) => Getter {
    const spec = this.functionOf(name, node);
    const first = spec.parameters[0];
    const alone = first !== undefined && spec.parameters.slice(1).every(({ optional }) => optional);
    if (isEditor(name) || !alone) throw nodeError(node, "is not a converter of one value");
    return (input) => {
      const value: PathNode = { kind: "path", segments: [], at: node.at, end: node.end };
      const argument = { name: undefined, value, at: node.at, end: node.end };
      const call: CallNode = { kind: "call", name, arguments: [argument], keys: [], at: node.at, end: node.end };
      const compiler: Compiler = {
        value: (inner) => (inner === value ? input : this.value(inner)),
        path: (inner) => this.path(inner),
        constant: (inner) => this.constant(inner),
        converter: (innerName, inner) => this.converter(innerName, inner),
        lambda: (inner) => this.lambda(inner),
        mayMatch: () => undefined,
      };
      return spec.compile(bindArguments(spec, call, compiler));
    };
  }

  lambda({ parameters, body }: LambdaNode): Lambda {
    const variables = parameters.map((name): LocalVariable => ({ name, value: null }));
    this.locals.push(...variables);
    const isCondition = body.kind === "compare" || body.kind === "and" || body.kind === "or" || body.kind === "not";
    const get: Getter = isCondition ? this.condition(body) : this.value(body);
    this.locals.length -= variables.length;
    return (ctx, ...values) => {
      for (let i = 0; i < variables.length; i++) variables[i]!.value = values[i]!;
      return get(ctx);
    };
  }

  /** A parameter of a lambda can be read and indexed but not set. */
  private localAccess(node: PathNode): PathAccess | undefined {
    const [first, ...rest] = node.segments;
    const variable = this.locals.findLast(({ name }) => name === first?.name && name !== "_");
    if (variable === undefined) return undefined;
    if (rest.length > 0)
      throw nodeError(
        node,
        `continues after the parameter ${variable.name}: write ${variable.name}["${rest[0]!.name}"]`,
      );
    const keys = first!.keys.map((key) => this.key(key));
    return {
      get: (ctx) => getAtKeys(variable.value, keys, ctx),
      set: () => {
        throw new OttlError(`${variable.name} is a parameter and cannot be set`);
      },
    };
  }

  /** A list field, such as bucket_counts, can be read item by item. */
  private listItemAccess(spec: PathSpec, keys: readonly AstNode[]): PathAccess {
    if (spec.type !== "list" || keys.length > 1)
      throw nodeError(keys[0]!, `follows a ${spec.type}, which cannot be indexed`);
    const listAccess = spec.compile([]);
    const compiled = keys.map((key) => this.key(key));
    return {
      get: (ctx) => getAtKeys(listAccess.get(ctx), compiled, ctx),
      set: () => {
        throw new TypeError("an item of a list field is only read");
      },
      isReadOnly: true,
    };
  }

  private pathSpec(node: PathNode): PathSpec {
    const name = node.segments.map((segment) => segment.name).join(".");
    const { paths } = this;
    const spec = Object.hasOwn(paths, name) ? paths[name] : undefined;
    if (spec !== undefined) return spec;
    throw new OttlSyntaxError(
      `no such path in the context ${this.context}: ${name}`,
      node.at,
      node.end - node.at,
      this.pathAdvice(name),
    );
  }

  /** A suggestion for an unknown path: a key of a map, a path of another context, or one with similar spelling. */
  private pathAdvice(name: string): string | undefined {
    const [first = ""] = name.split(".");
    const map = Object.keys(this.paths).find((path) => this.paths[path]!.type === "map" && name.startsWith(`${path}.`));
    if (map !== undefined) return `keys are written in brackets: ${map}["${name.slice(map.length + 1)}"]`;
    const isHere = Object.keys(this.paths).some((path) => path.startsWith(`${first}.`));
    if (!isHere && CONTEXTS.some((context) => context === first))
      return `there is no ${first} in the context ${this.context}: use the context ${first}`;
    return didYouMean(name, Object.keys(this.paths)).suggestion;
  }

  private key(node: AstNode): PathKey {
    const literal =
      node.kind === "literal" && (typeof node.value === "string" || typeof node.value === "bigint")
        ? node.value
        : undefined;
    const isNoKey = node.kind === "literal" && literal === undefined && typeof node.value !== "number";
    if (isNoKey || node.kind === "list" || node.kind === "map" || node.kind === "name")
      throw nodeError(node, "is not a key: use a string or an integer");
    return { literal, get: this.value(node) };
  }

  private functionOf(name: string, node: AstNode): FunctionSpec {
    const spec = this.functions.get(name);
    const place = [node.at, name.length] as const;
    if (spec === undefined) {
      const { suggestion } = didYouMean(name, this.functions.keys());
      throw new OttlSyntaxError(`no such function: ${name}`, ...place, suggestion);
    }
    if (spec.contexts !== undefined && !spec.contexts.includes(this.context))
      throw new OttlSyntaxError(`${name} works only in the context ${spec.contexts.join(" or ")}`, ...place);
    return spec;
  }

  private call(node: CallNode): Getter {
    const spec = this.functionOf(node.name, node);
    if (isEditor(node.name))
      throw nodeError(node, "is an editor, which returns no value: converters begin with a capital letter");
    const make = spec.compile(bindArguments(spec, node, this));
    const get: Getter = (ctx) => {
      const value = make(ctx);
      if (typeof value === "string" && value.length > MAX_TEXT_LENGTH) throw textTooLong();
      return value;
    };
    if (node.keys.length === 0) return get;
    const keys = node.keys.map((key) => this.key(key));
    return (ctx) => getAtKeys(get(ctx), keys, ctx, 0, true);
  }

  private booleanCall(node: CallNode): Predicate {
    const get = this.call(node);
    return (ctx) => {
      const value = get(ctx);
      if (typeof value === "boolean") return value;
      throw new OttlError(`${node.name} gave ${typeName(value)}, not a bool`);
    };
  }

  private enumValue(node: NameNode): bigint {
    const value = ENUMS[this.context].get(node.name);
    if (value !== undefined) return value;
    const { suggestion } = didYouMean(node.name, [...ENUMS[this.context].keys(), ...this.functions.keys()]);
    throw new OttlSyntaxError(
      `no such name in the context ${this.context}: ${node.name}`,
      node.at,
      node.name.length,
      suggestion,
    );
  }

  private list(nodes: readonly AstNode[]): Getter {
    const items = nodes.map((item) => this.value(item));
    return (ctx) => items.map((item) => item(ctx));
  }

  private map(nodes: readonly (readonly [string, AstNode])[]): Getter {
    const entries = nodes.map(([key, value]) => [key, this.value(value)] as const);
    return (ctx) => {
      const map: OttlMap = new Map();
      for (const [key, value] of entries) map.set(key, value(ctx));
      return map;
    };
  }

  private comparison(node: CompareNode): Predicate {
    const { operator, left, right } = node;
    if (left.kind === "literal" && right.kind === "literal")
      return compare(left.value, right.value, operator) ? ALWAYS : NEVER;
    return (
      this.attributeTest(node.left, node.right, operator) ??
      this.attributeTest(node.right, node.left, operator) ??
      this.numberTest(node) ??
      this.anyComparison(node)
    );
  }

  private anyComparison({ left, operator, right }: CompareNode): Predicate {
    const a = this.value(left);
    const b = this.value(right);
    return (ctx) => compare(a(ctx), b(ctx), operator);
  }

  /** Compares a small integer with a constant. */
  private numberTest({ left, operator, right }: CompareNode): Predicate | undefined {
    const constant = this.constant(right);
    if (left.kind !== "path" || (typeof constant !== "bigint" && typeof constant !== "number")) return undefined;
    const { number } = this.access(left);
    const limit = Number(constant);
    return number && ((ctx) => compareDoubles(number(ctx), limit, operator));
  }

  private attributeTest(path: AstNode, other: AstNode, operator: Comparison): Predicate | undefined {
    if (path.kind !== "path" || other.kind !== "literal") return undefined;
    const { attribute } = this.access(path);
    return attribute === undefined ? undefined : attributeTest(attribute, operator, other.value);
  }
}

interface LocalVariable {
  readonly name: string;
  value: OttlValue;
}

function isEditor(name: string): boolean {
  return /^[a-z]/.test(name);
}

function nodeError(node: AstNode, why: string): OttlSyntaxError {
  return new OttlSyntaxError(`this ${NODE_NAMES[node.kind]} ${why}`, node.at, node.end - node.at);
}

const NODE_NAMES: Readonly<Record<AstNode["kind"], string>> = {
  literal: "value",
  path: "path",
  call: "function",
  name: "name",
  list: "list",
  map: "map",
  math: "calculation",
  negate: "calculation",
  compare: "comparison",
  and: "condition",
  or: "condition",
  not: "condition",
  lambda: "lambda",
};
