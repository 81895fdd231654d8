import { type ExpressionFunction, FUNCTIONS } from "./functions.js";
import {
  type CompiledExpression,
  constant,
  type ExpressionScope,
  INFIX,
  matching,
  memberOf,
  POWERS,
} from "./operators.js";
import { callMethod } from "./times.js";
import { ExpressionError, type ExpressionToken, tokenize } from "./tokens.js";
import { asList, asNumber, asTruth, compare, type ExpressionValue, typeName } from "./values.js";

interface ExpressionNames {
  /** The variables of a scope. */
  readonly variables: readonly string[];
  /** Functions besides those of the language. */
  readonly functions?: Readonly<Record<string, ExpressionFunction>>;
  /** True if any other name is a variable without a value. */
  readonly allowsUnknown?: boolean;
}

/**
 * Compiles an expression of expr-lang, the language of the Collector's operators; the parts that configs use are
 * supported. It reads data and computes, changes nothing, and patterns run in linear time. Throws an `ExpressionError`
 * if the source is invalid or not supported.
 */
export function compileExpression(source: string, names: ExpressionNames): CompiledExpression {
  const parser = new ExpressionParser(source, names);
  return parser.parse();
}

const PREDICATES = "all any none one filter map count find findIndex findLast findLastIndex groupBy sortBy".split(" ");

const UNARY_POWER = 50;
const MAX_DEPTH = 100;

class ExpressionParser {
  private readonly tokens: readonly ExpressionToken[];
  private readonly names: ExpressionNames;
  private index = 0;
  private depth = 0;
  private predicateDepth = 0;
  /** The variables that `let` has declared. */
  private readonly locals: string[] = [];

  constructor(source: string, names: ExpressionNames) {
    this.tokens = tokenize(source);
    this.names = names;
  }

  parse(): CompiledExpression {
    const expression = this.sequence();
    if (this.token.kind !== "end") throw this.unexpected();
    return expression;
  }

  private get token(): ExpressionToken {
    return this.tokens[this.index]!;
  }

  private next(): ExpressionToken {
    const token = this.token;
    if (token.kind !== "end") this.index++;
    return token;
  }

  private unexpected(token = this.token): ExpressionError {
    return new ExpressionError(token.kind === "end" ? "it ends too early" : `${token.text} is not expected`, token.at);
  }

  private isSign(text: string): boolean {
    return this.token.kind === "sign" && this.token.text === text;
  }

  private take(text: string): boolean {
    if (this.token.text !== text || (this.token.kind !== "sign" && this.token.kind !== "name")) return false;
    this.index++;
    return true;
  }

  private expect(text: string): void {
    if (!this.isSign(text)) throw new ExpressionError(`expected ${text}`, this.token.at);
    this.index++;
  }

  /** An expression behind any number of declarations, as in `let x = 1; x + 1`. */
  private sequence(): CompiledExpression {
    if (!(this.token.kind === "name" && this.token.text === "let")) return this.binary(0);
    this.index++;
    const { at } = this.token;
    const name = this.memberName();
    if (this.names.variables.includes(name) || this.locals.includes(name))
      throw new ExpressionError(`${name} is taken; choose another name`, at);
    this.expect("=");
    const value = this.binary(0);
    this.expect(";");
    this.locals.push(name);
    const body = this.sequence();
    this.locals.pop();
    return (scope) => body({ ...scope, [name]: value(scope) });
  }

  private binary(minPower: number): CompiledExpression {
    if (++this.depth > MAX_DEPTH) throw new ExpressionError("it is nested too deep", this.token.at);
    let left = this.unary();
    while (true) {
      const { kind, text, at } = this.token;
      const power = kind === "sign" || kind === "name" ? POWERS[text] : undefined;
      if (power === undefined || !Object.hasOwn(POWERS, text) || power <= minPower) break;
      this.index++;
      left = this.infix(left, text, power, at);
    }
    this.depth--;
    return left;
  }

  private infix(left: CompiledExpression, text: string, power: number, at: number): CompiledExpression {
    if (text === "?") return this.conditional(left);
    if (text === "|") return this.pipe(left);
    if (text === "not") {
      const { text: word, at: wordAt } = this.next();
      if (!["in", "matches", "contains", "startsWith", "endsWith"].includes(word))
        throw new ExpressionError("expected in, matches, contains, startsWith or endsWith after not", wordAt);
      const positive = this.infix(left, word, power, wordAt);
      return (scope) => !positive(scope);
    }
    const isRight = text === "**" || text === "^";
    const rightToken = this.token;
    const right = this.binary(isRight ? power - 1 : power);
    if (text === "matches") return matching(left, right, rightToken, at);
    const apply = INFIX[text];
    if (apply === undefined) throw new ExpressionError(`${text} is not known`, at);
    return apply(left, right);
  }

  private conditional(condition: CompiledExpression): CompiledExpression {
    const then = this.isSign(":") ? undefined : this.binary(0);
    this.expect(":");
    const otherwise = this.binary(0);
    return (scope) => {
      const value = condition(scope);
      if (then === undefined) return value ?? otherwise(scope);
      return asTruth(value, "?") ? then(scope) : otherwise(scope);
    };
  }

  /** `value | function(more)` is `function(value, more)`. */
  private pipe(left: CompiledExpression): CompiledExpression {
    const token = this.next();
    if (token.kind !== "name" || !this.isSign("(")) throw new ExpressionError("expected a function after |", token.at);
    return this.call(token, [left]);
  }

  private unary(): CompiledExpression {
    const { at } = this.token;
    if (this.take("!") || this.take("not")) {
      const operand = this.binary(UNARY_POWER);
      return (scope) => !asTruth(operand(scope), "not");
    }
    if (this.take("-")) {
      const operand = this.binary(UNARY_POWER);
      return (scope) => {
        const value = operand(scope);
        return typeof value === "bigint" ? -value : -asNumber(value, "-");
      };
    }
    if (this.take("+")) return this.binary(UNARY_POWER);
    return this.postfix(this.primary(), at);
  }

  private postfix(start: CompiledExpression, at: number): CompiledExpression {
    let target = start;
    for (;;) {
      if (this.take(".")) target = this.memberOrMethod(target);
      else if (this.take("?.")) target = memberOf(target, constant(this.memberName()), true);
      else if (this.take("[")) target = this.indexOrSlice(target);
      else if (this.isSign("(")) throw new ExpressionError("only named functions can be called", at);
      else return target;
    }
  }

  private memberOrMethod(target: CompiledExpression): CompiledExpression {
    const name = this.memberName();
    if (!this.take("(")) return memberOf(target, constant(name), false);
    const args = this.arguments();
    return (scope) =>
      callMethod(
        target(scope),
        name,
        args.map((arg) => arg(scope)),
      );
  }

  private memberName(): string {
    const token = this.next();
    if (token.kind !== "name") throw this.unexpected(token);
    return token.text;
  }

  private indexOrSlice(target: CompiledExpression): CompiledExpression {
    const from = this.isSign(":") ? undefined : this.binary(POWERS["?"]!);
    if (!this.take(":")) {
      this.expect("]");
      return memberOf(target, from!, false);
    }
    const to = this.isSign("]") ? undefined : this.binary(POWERS["?"]!);
    this.expect("]");
    return (scope) => {
      const value = target(scope);
      if (typeof value !== "string" && !Array.isArray(value))
        throw new ExpressionError(`a slice needs a string or an array, not ${typeName(value)}`);
      const bound = (edge: CompiledExpression | undefined, by: number) =>
        edge === undefined ? by : asNumber(edge(scope), "a slice");
      return value.slice(bound(from, 0), bound(to, value.length));
    };
  }

  private primary(): CompiledExpression {
    const token = this.next();
    const { kind, text, at } = token;
    if (kind === "number" || kind === "text") return constant(token.value!);
    if (kind === "name") return this.named(token);
    if (text === "(") {
      const inner = this.sequence();
      this.expect(")");
      return inner;
    }
    if (text === "[") return this.list();
    if (text === "{") return this.map();
    if (text === "#" || (text === "." && this.predicateDepth > 0)) return this.element(text);
    throw new ExpressionError(kind === "end" ? "it ends too early" : `${text} is not expected`, at);
  }

  private named(token: ExpressionToken): CompiledExpression {
    const { text, at } = token;
    if (text === "true" || text === "false") return constant(text === "true");
    if (text === "nil" || text === "null") return constant(null);
    if (text === "if") return this.choice();
    if (this.isSign("(")) return this.call(token, []);
    if (text === "$env") return (scope) => this.environment(scope);
    if (this.names.variables.includes(text) || this.locals.includes(text)) return (scope) => scope[text] ?? null;
    if (this.names.allowsUnknown === true) return constant(null);
    throw new ExpressionError(`there is no ${text}; there are ${this.names.variables.join(", ")}`, at);
  }

  private call({ text, at }: ExpressionToken, first: readonly CompiledExpression[]): CompiledExpression {
    this.expect("(");
    if (PREDICATES.includes(text)) return this.predicate(text, first);
    if (text === "reduce") return this.reduction(first);
    const args = [...first, ...this.arguments()];
    const { functions = {} } = this.names;
    const known = Object.hasOwn(functions, text) ? functions : FUNCTIONS;
    if (!Object.hasOwn(known, text)) throw new ExpressionError(`the function ${text} is not known here`, at);
    const run = known[text]!;
    return (scope) => run(...args.map((arg) => arg(scope)));
  }

  /** The arguments of a call up to its closing parenthesis. */
  private arguments(): CompiledExpression[] {
    const args: CompiledExpression[] = [];
    while (!this.take(")")) {
      args.push(this.binary(0));
      if (!this.isSign(")")) this.expect(",");
    }
    return args;
  }

  /** All variables by their names. */
  private environment(scope: ExpressionScope): ExpressionValue {
    return Object.fromEntries(this.names.variables.map((name) => [name, scope[name] ?? null]));
  }

  private predicate(name: string, first: readonly CompiledExpression[]): CompiledExpression {
    const list = first[0] ?? this.binary(0);
    if (first.length === 0 && !this.isSign(")")) this.expect(",");
    this.predicateDepth++;
    const hasBraces = this.take("{");
    const test = this.isSign(")") ? (scope: ExpressionScope) => scope["#"] : this.binary(0);
    if (hasBraces) this.expect("}");
    this.predicateDepth--;
    this.expect(")");
    return (scope) => {
      const items = asList(list(scope), name);
      const of = (item: ExpressionValue) => test({ ...scope, "#": item });
      const holds = (item: ExpressionValue) => asTruth(of(item), name);
      switch (name) {
        case "all":
          return items.every(holds);
        case "any":
          return items.some(holds);
        case "none":
          return !items.some(holds);
        case "one":
          return items.filter(holds).length === 1;
        case "filter":
          return items.filter(holds);
        case "count":
          return BigInt(items.filter(holds).length);
        case "find":
          return items.find(holds) ?? null;
        case "findIndex":
          return BigInt(items.findIndex(holds));
        case "findLast":
          return items.findLast(holds) ?? null;
        case "findLastIndex":
          return BigInt(items.findLastIndex(holds));
        case "groupBy":
          return groupsOf(items, of);
        case "sortBy":
          return [...items].sort((a, b) => compare(of(a), of(b), name));
        default:
          return items.map(of);
      }
    };
  }

  /** Evaluates `reduce(list, #acc + #, 0)`. Without a start value, it starts with the first item. */
  private reduction(first: readonly CompiledExpression[]): CompiledExpression {
    const list = first[0] ?? this.binary(0);
    if (first.length === 0) this.expect(",");
    this.predicateDepth++;
    const step = this.binary(0);
    this.predicateDepth--;
    const start = this.take(",") ? this.binary(0) : undefined;
    this.expect(")");
    return (scope) => {
      const items = [...asList(list(scope), "reduce")];
      if (start === undefined && items.length === 0) throw new ExpressionError("reduce needs a start or an item");
      const initial = start === undefined ? items.shift() : start(scope);
      return items.reduce((total, item) => step({ ...scope, "#": item, "#acc": total }), initial);
    };
  }

  /** `if` chooses between two blocks: `if body == nil { 1 } else { 2 }`. */
  private choice(): CompiledExpression {
    const condition = this.binary(0);
    const block = () => {
      this.expect("{");
      const inner = this.sequence();
      this.expect("}");
      return inner;
    };
    const then = block();
    if (!this.take("else")) throw new ExpressionError("expected else", this.token.at);
    const otherwise = this.take("if") ? this.choice() : block();
    return (scope) => (asTruth(condition(scope), "if") ? then(scope) : otherwise(scope));
  }

  /** `#` is the item that a predicate is evaluated for, and `.name` is short for `#.name`. */
  private element(sign: string): CompiledExpression {
    if (this.predicateDepth === 0) throw new ExpressionError("# is only known in a predicate", this.token.at);
    const isTotal = sign === "#" && this.token.kind === "name" && this.token.text === "acc";
    if (isTotal) {
      this.index++;
      return (scope) => scope["#acc"];
    }
    const item: CompiledExpression = (scope) => scope["#"];
    return sign === "#" ? item : memberOf(item, constant(this.memberName()), false);
  }

  private list(): CompiledExpression {
    const items: CompiledExpression[] = [];
    while (!this.take("]")) {
      items.push(this.binary(0));
      if (!this.isSign("]")) this.expect(",");
    }
    return (scope) => items.map((item) => item(scope));
  }

  private map(): CompiledExpression {
    const members: (readonly [string, CompiledExpression])[] = [];
    while (!this.take("}")) {
      const key = this.next();
      if (key.kind === "sign" || key.kind === "end") throw this.unexpected(key);
      this.expect(":");
      members.push([String(key.value ?? key.text), this.binary(0)]);
      if (!this.isSign("}")) this.expect(",");
    }
    return (scope) => Object.fromEntries(members.map(([key, value]) => [key, value(scope)]));
  }
}

/** The items by the text of their keys. */
function groupsOf(items: readonly ExpressionValue[], keyOf: (item: ExpressionValue) => ExpressionValue) {
  const groups: Record<string, ExpressionValue[]> = Object.create(null);
  for (const item of items) (groups[String(keyOf(item))] ??= []).push(item);
  return groups;
}
