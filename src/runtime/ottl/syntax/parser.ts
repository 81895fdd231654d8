import type { MathOperator } from "../values/arithmetic.js";
import type { Comparison } from "../values/compare.js";
import { OttlSyntaxError } from "../values/error.js";
import type { Argument, AstNode, CallNode, LiteralNode, PathSegment, StatementNode } from "./ast.js";
import type { Token } from "./lexer.js";
import { TokenCursor } from "./token-cursor.js";

/** Parses a condition into a tree. Throws an `OttlSyntaxError` with the place of the first mistake. */
export function parseCondition(text: string): AstNode {
  const parser = new Parser(text);
  const node = parser.expression();
  parser.expectEnd();
  return node;
}

/** Parses `editor(arguments) where condition` into a tree. */
export function parseStatement(text: string): StatementNode {
  const parser = new Parser(text);
  const editor = parser.editor();
  const where = parser.takeWord("where") ? parser.expression() : undefined;
  parser.expectEnd();
  return { editor, where };
}

/** Parses a single value, such as a path. */
export function parseValue(text: string): AstNode {
  return parseCondition(text);
}

/** Deep enough for every use, and far from exhausting the stack. */
const MAX_DEPTH = 100;
const MAX_TERMS = 500;
const COMPARISONS = new Set(["==", "!=", "<", "<=", ">", ">="]);
export const KEYWORDS: ReadonlySet<string> = new Set(["and", "or", "not", "where", "nil", "true", "false"]);
const INT64_LIMIT = 2n ** 63n;

/**
 * Recursive descent, loosest first: or, and, not, comparison, sum, product, sign, value. The compiler decides what is
 * allowed where (a path is not a condition, a comparison is not an operand), because it knows more.
 */
class Parser extends TokenCursor {
  private depth = 0;

  editor(): CallNode {
    const token = this.peek();
    if (token.kind !== "word") throw this.unexpected('an editor, such as set(attributes["key"], "value")');
    const node = this.primary();
    if (node.kind !== "call")
      throw new OttlSyntaxError("a statement is one call of an editor", node.at, node.end - node.at);
    if (node.keys.length > 0)
      throw new OttlSyntaxError("only paths and converters can be indexed, not editors", node.keys[0]!.at - 1, 1);
    return node;
  }

  expression(): AstNode {
    if (++this.depth > MAX_DEPTH) throw new OttlSyntaxError(`nested more than ${MAX_DEPTH} deep`, this.peek().at);
    const node = this.logicalSeries("or", () => this.logicalSeries("and", () => this.negation()));
    this.depth--;
    return node;
  }

  expectEnd(): void {
    if (this.peek().kind === "end") return;
    throw this.unexpected("the end, a comparison, and, or", this.isSymbol("=") ? 'did you mean "=="?' : undefined);
  }

  private logicalSeries(kind: "and" | "or", parseOperand: () => AstNode): AstNode {
    const first = parseOperand();
    if (!this.isWord(kind)) return first;
    const operands = [first];
    while (this.takeWord(kind)) operands.push(parseOperand());
    return { kind, operands, at: first.at, end: operands.at(-1)!.end };
  }

  private negation(): AstNode {
    const at = this.peek().at;
    if (!this.takeWord("not")) return this.comparison();
    if (this.isWord("not")) throw this.unexpected("a condition");
    const operand = this.comparison();
    return { kind: "not", operand, at, end: operand.end };
  }

  private comparison(): AstNode {
    const left = this.sum();
    const token = this.peek();
    if (token.kind !== "symbol" || !COMPARISONS.has(token.text)) return left;
    this.next();
    const right = this.sum();
    return { kind: "compare", operator: token.text as Comparison, left, right, at: left.at, end: right.end };
  }

  private sum(): AstNode {
    return this.leftAssociative(["+", "-"], () => this.leftAssociative(["*", "/"], () => this.signedValue()));
  }

  private leftAssociative(operators: readonly string[], operand: () => AstNode): AstNode {
    let left = operand();
    for (let terms = 1; terms < MAX_TERMS; terms++) {
      if (this.peek().kind !== "symbol" || !operators.includes(this.peek().text)) return left;
      const operator = this.next().text as MathOperator;
      const right = operand();
      left = { kind: "math", operator, left, right, at: left.at, end: right.end };
    }
    throw new OttlSyntaxError(`more than ${MAX_TERMS} terms`, this.peek().at);
  }

  private signedValue(): AstNode {
    const token = this.peek();
    if (!this.isSymbol("-") && !this.isSymbol("+")) return this.primary();
    this.next();
    const operand = this.primary(token.text === "-");
    if (operand.kind === "literal") {
      const { value, at, end } = operand;
      if (typeof value !== "number" && typeof value !== "bigint")
        throw new OttlSyntaxError("this value is not a number, time or duration", at, end - at);
      const negative = typeof value === "bigint" ? BigInt.asIntN(64, -value) : -value;
      if (token.text === "-") return { ...operand, value: negative, at: token.at };
    }
    if (token.text === "+") return operand.kind === "path" ? { ...operand, isSigned: true } : operand;
    return { kind: "negate", operand, at: token.at, end: operand.end };
  }

  private primary(negative = false): AstNode {
    const token = this.peek();
    switch (token.kind) {
      case "string":
        return this.literal(token.text);
      case "int":
        return this.literal(this.integer(token, negative));
      case "float":
        return this.literal(this.double(token));
      case "bytes":
        return this.literal(this.bytes(token));
      case "word":
        return this.word(token);
      case "symbol":
        if (token.text === "(") return this.group();
        if (token.text === "[") return this.list();
        if (token.text === "{") return this.map();
    }
    throw this.unexpected("a value");
  }

  private literal(value: LiteralNode["value"]): LiteralNode {
    const { at, end } = this.next();
    return { kind: "literal", value, at, end };
  }

  private integer(token: Token, negative: boolean): bigint {
    const value = token.text.length > 20 ? INT64_LIMIT + 1n : BigInt(token.text);
    if (value < INT64_LIMIT || (negative && value === INT64_LIMIT)) return value;
    throw new OttlSyntaxError("the integer does not fit 64 bits", token.at, token.text.length);
  }

  private double(token: Token): number {
    if (Number.isFinite(Number(token.text))) return Number(token.text);
    throw new OttlSyntaxError("the number does not fit a double", token.at, token.text.length);
  }

  private bytes(token: Token): Uint8Array {
    if (token.text.length % 2 === 0) return new Uint8Array(Buffer.from(token.text.slice(2), "hex"));
    throw new OttlSyntaxError("bytes need two digits each", token.at, token.text.length);
  }

  private group(): AstNode {
    if (this.isLambda()) return this.lambda();
    this.next();
    const node = this.expression();
    this.expect(")");
    return node;
  }

  /** Whether "(", names with commas between them, ")" and "=>" follow. */
  private isLambda(): boolean {
    let ahead = 1;
    while (this.peek(ahead).kind === "word" || this.peek(ahead).text === ",") ahead++;
    return (
      this.peek(ahead).text === ")" && this.peek(ahead + 1).kind === "symbol" && this.peek(ahead + 1).text === "=>"
    );
  }

  private lambda(): AstNode {
    const { at } = this.next();
    const parameters: string[] = [];
    while (this.peek().kind === "word") {
      const { text, at: place } = this.next();
      if (!/^(_|[a-z][a-z0-9_]*)$/.test(text) || KEYWORDS.has(text))
        throw new OttlSyntaxError("a parameter is a name in small letters, or _", place, text.length);
      if (text !== "_" && parameters.includes(text))
        throw new OttlSyntaxError(`the parameter ${text} is there twice`, place, text.length);
      parameters.push(text);
      if (!this.takeSymbol(",")) break;
    }
    this.expect(")");
    this.expect("=>");
    const body = this.expression();
    return { kind: "lambda", parameters, body, at, end: body.end };
  }

  private list(): AstNode {
    const { at } = this.next();
    const items: AstNode[] = [];
    if (!this.isSymbol("]")) {
      do items.push(this.expression());
      while (this.takeSymbol(","));
    }
    return { kind: "list", items, at, end: this.expect("]").end };
  }

  private map(): AstNode {
    const { at } = this.next();
    const entries: [string, AstNode][] = [];
    while (!this.isSymbol("}")) {
      if (this.peek().kind !== "string") throw this.unexpected('a key in double quotes, or "}"');
      const key = this.next().text;
      this.expect(":");
      entries.push([key, this.expression()]);
      this.takeSymbol(",");
    }
    return { kind: "map", entries, at, end: this.expect("}").end };
  }

  private word(token: Token): AstNode {
    const { text, at } = token;
    if (text === "nil") return this.literal(null);
    if (text === "true" || text === "false") return this.literal(text === "true");
    if (KEYWORDS.has(text)) throw this.unexpected("a value");
    this.next();
    if (this.isSymbol("(")) return this.call(token);
    if (/^[A-Z]/.test(text)) return { kind: "name", name: text, at, end: token.end };
    return this.path(token);
  }

  private path(first: Token): AstNode {
    const segments = [this.segment(first)];
    while (this.takeSymbol(".")) {
      if (this.peek().kind !== "word") throw this.unexpected("a name");
      segments.push(this.segment(this.next()));
    }
    return { kind: "path", segments, at: first.at, end: segments.at(-1)!.end };
  }

  private segment(token: Token): PathSegment {
    const keys = this.keys();
    return { name: token.text, keys, at: token.at, end: this.previousEnd() };
  }

  private call(name: Token): CallNode {
    this.next();
    const list: Argument[] = [];
    if (!this.isSymbol(")")) {
      do list.push(this.argument());
      while (this.takeSymbol(","));
    }
    this.expect(")");
    const keys = this.keys();
    return { kind: "call", name: name.text, arguments: list, keys, at: name.at, end: this.previousEnd() };
  }

  private argument(): Argument {
    const token = this.peek();
    const following = this.peek(1);
    const named = token.kind === "word" && following.kind === "symbol" && following.text === "=";
    if (named) {
      this.next();
      this.next();
    }
    const value = this.expression();
    return { name: named ? token.text : undefined, value, at: token.at, end: value.end };
  }

  private keys(): AstNode[] {
    const keys: AstNode[] = [];
    while (this.takeSymbol("[")) {
      keys.push(this.expression());
      this.expect("]");
    }
    return keys;
  }
}
