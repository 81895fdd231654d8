import { OttlError } from "../../values/error.js";
import { innerText, type XmlNode } from "./xml-tree.js";

/**
 * The part of XPath that selects nodes: paths of steps (`/a//b/@c`, `..`, `*`, `text()`, `comment()`, `node()`) with
 * predicates of positions, comparisons, `and`, `or`, and the functions in `FUNCTIONS`; several paths with `|` between
 * them.
 */
export type XPath = (document: XmlNode) => XmlNode[];

type XPathValue = string | number | boolean | XmlNode[];

interface Focus {
  readonly node: XmlNode;
  readonly position: number;
  readonly size: number;
  readonly budget: { left: number };
}

type Expression = (focus: Focus) => XPathValue;

/** Limits node visits: a path with many // may visit a node again and again. */
const MAX_VISITS = 2_000_000;

/** Throws an `OttlError` with the reason if the path is invalid. */
export function compileXPath(text: string): XPath {
  const expression = new XPathParser(text).whole();
  return (document) => {
    const value = expression({ node: document, position: 1, size: 1, budget: { left: MAX_VISITS } });
    if (!Array.isArray(value)) throw new OttlError("the XPath gives a value, not nodes");
    return value;
  };
}

const TOKEN =
  /\s*(\/\/|\.\.|::|!=|<=|>=|[/.@*|=<>()[\],+-]|"[^"]*"|'[^']*'|\d+(?:\.\d+)?|[A-Za-z_][-.\w]*(?::[A-Za-z_*][-.\w]*)?)/y;
const MAX_DEPTH = 50;
const MAX_LENGTH = 10_000;

function tokensOf(text: string): string[] {
  const tokens: string[] = [];
  let p = 0;
  if (text.length > MAX_LENGTH) throw new OttlError(`not a valid XPath: longer than ${MAX_LENGTH} characters`);
  while (text.slice(p).trim() !== "") {
    TOKEN.lastIndex = p;
    const match = TOKEN.exec(text);
    if (match === null) throw new OttlError(`not a valid XPath, at ${JSON.stringify(text.slice(p, p + 20))}`);
    tokens.push(match[1]!);
    p = TOKEN.lastIndex;
  }
  return tokens;
}

type NodeTest = (node: XmlNode) => boolean;
type Axis = (node: XmlNode, budget: Focus["budget"]) => Iterable<XmlNode>;

interface Step {
  readonly axis: Axis;
  readonly test: NodeTest;
  readonly predicates: readonly Expression[];
}

function visit(budget: Focus["budget"]): void {
  if (--budget.left < 0) throw new OttlError("the XPath visits too many nodes");
}

function* descendants(node: XmlNode, budget: Focus["budget"]): Generator<XmlNode> {
  for (const child of node.children) {
    visit(budget);
    yield child;
    yield* descendants(child, budget);
  }
}

function* ancestors(node: XmlNode): Generator<XmlNode> {
  for (let up = node.parent; up !== undefined; up = up.parent) yield up;
}

function siblings(node: XmlNode, step: 1 | -1): XmlNode[] {
  const all = node.parent?.children ?? [];
  const index = all.indexOf(node);
  return step === 1 ? all.slice(index + 1) : all.slice(0, Math.max(0, index)).reverse();
}

const AXES: Readonly<Record<string, Axis>> = {
  child: (node) => node.children,
  attribute: (node) => node.attributes,
  self: (node) => [node],
  parent: (node) => (node.parent === undefined ? [] : [node.parent]),
  descendant: descendants,
  *"descendant-or-self"(node, budget) {
    yield node;
    yield* descendants(node, budget);
  },
  ancestor: ancestors,
  *"ancestor-or-self"(node) {
    yield node;
    yield* ancestors(node);
  },
  "following-sibling": (node) => siblings(node, 1),
  "preceding-sibling": (node) => siblings(node, -1),
};

const NODE_TESTS: Readonly<Record<string, NodeTest>> = {
  text: ({ type }) => type === "text" || type === "cdata",
  comment: ({ type }) => type === "comment",
  node: () => true,
};

class XPathParser {
  private readonly tokens: readonly string[];
  private at = 0;
  private depth = 0;

  constructor(text: string) {
    this.tokens = tokensOf(text);
  }

  whole(): Expression {
    const expression = this.or();
    if (this.at < this.tokens.length) throw this.unexpected();
    return expression;
  }

  private or(): Expression {
    if (++this.depth > MAX_DEPTH) throw new OttlError(`not a valid XPath: nested more than ${MAX_DEPTH} deep`);
    let left = this.and();
    while (this.take("or")) {
      const [a, b] = [left, this.and()];
      left = (focus) => isTrue(a(focus)) || isTrue(b(focus));
    }
    this.depth--;
    return left;
  }

  private and(): Expression {
    let left = this.comparison();
    while (this.take("and")) {
      const [a, b] = [left, this.comparison()];
      left = (focus) => isTrue(a(focus)) && isTrue(b(focus));
    }
    return left;
  }

  private comparison(): Expression {
    const left = this.sum();
    const operator = this.peek();
    if (!["=", "!=", "<", "<=", ">", ">="].includes(operator)) return left;
    this.at++;
    const right = this.sum();
    return (focus) => compareValues(left(focus), operator, right(focus));
  }

  private sum(): Expression {
    let left = this.union();
    for (let sign = this.peek(); sign === "+" || sign === "-"; sign = this.peek()) {
      this.at++;
      const [a, b, factor] = [left, this.union(), sign === "+" ? 1 : -1];
      left = (focus) => toNumber(a(focus)) + factor * toNumber(b(focus));
    }
    return left;
  }

  private union(): Expression {
    const first = this.primary();
    if (this.peek() !== "|") return first;
    const paths = [first];
    while (this.take("|")) paths.push(this.primary());
    return (focus) => [...new Set(paths.flatMap((path) => nodesOf(path(focus))))];
  }

  private primary(): Expression {
    const token = this.peek();
    if (/^["']/.test(token)) {
      this.at++;
      const text = token.slice(1, -1);
      return () => text;
    }
    if (/^\d/.test(token)) {
      this.at++;
      const number = Number(token);
      return () => number;
    }
    if (token === "(") {
      this.at++;
      const inner = this.or();
      this.expect(")");
      return inner;
    }
    if (Object.hasOwn(FUNCTIONS, token) && this.tokens[this.at + 1] === "(") return this.call(token);
    return this.path();
  }

  private call(name: string): Expression {
    this.at += 2;
    const args: Expression[] = [];
    while (this.peek() !== ")") {
      args.push(this.or());
      if (!this.take(",")) break;
    }
    this.expect(")");
    const run = FUNCTIONS[name]!;
    return (focus) =>
      run(
        focus,
        args.map((arg) => arg(focus)),
      );
  }

  private path(): Expression {
    const absolute = this.peek() === "/" || this.peek() === "//";
    const steps: Step[] = [];
    if (this.take("//")) steps.push(ANY_DEPTH, this.step());
    else if (this.take("/")) {
      if (this.beginsStep()) steps.push(this.step());
    } else steps.push(this.step());
    while (this.peek() === "/" || this.peek() === "//") {
      if (this.take("//")) steps.push(ANY_DEPTH);
      else this.at++;
      steps.push(this.step());
    }
    return (focus) => {
      let nodes = [absolute ? rootOf(focus.node) : focus.node];
      for (const step of steps) nodes = takeStep(nodes, step, focus.budget);
      return nodes;
    };
  }

  private beginsStep(): boolean {
    return /^(?:[A-Za-z_*.@]|\.\.)/.test(this.peek());
  }

  private step(): Step {
    if (this.take("..")) return { axis: AXES["parent"]!, test: () => true, predicates: this.predicates() };
    if (this.take(".")) return { axis: AXES["self"]!, test: () => true, predicates: this.predicates() };
    let axis = this.take("@") ? "attribute" : "child";
    if (this.tokens[this.at + 1] === "::") {
      axis = this.peek();
      if (!Object.hasOwn(AXES, axis)) throw this.unexpected();
      this.at += 2;
    }
    return { axis: AXES[axis]!, test: this.nodeTest(axis), predicates: this.predicates() };
  }

  private nodeTest(axis: string): NodeTest {
    const name = this.peek();
    this.at++;
    const kind = axis === "attribute" ? "attribute" : "element";
    if (name === "*") return ({ type }) => type === kind;
    if (!/^[A-Za-z_]/.test(name)) {
      this.at--;
      throw this.unexpected();
    }
    if (this.peek() === "(") {
      if (!Object.hasOwn(NODE_TESTS, name)) throw this.unexpected();
      this.at++;
      this.expect(")");
      return NODE_TESTS[name]!;
    }
    return (node) => node.type === kind && node.name === name;
  }

  private predicates(): Expression[] {
    const list: Expression[] = [];
    while (this.take("[")) {
      list.push(this.or());
      this.expect("]");
    }
    return list;
  }

  private peek(): string {
    return this.tokens[this.at] ?? "";
  }

  private take(token: string): boolean {
    if (this.peek() !== token) return false;
    this.at++;
    return true;
  }

  private expect(token: string): void {
    if (!this.take(token)) throw this.unexpected();
  }

  private unexpected(): OttlError {
    return new OttlError(`not a valid XPath: ${JSON.stringify(this.peek() || "its end")} stands where it cannot`);
  }
}

const ANY_DEPTH: Step = { axis: AXES["descendant-or-self"]!, test: () => true, predicates: [] };

function takeStep(nodes: readonly XmlNode[], { axis, test, predicates }: Step, budget: Focus["budget"]): XmlNode[] {
  const found = new Set<XmlNode>();
  for (const node of nodes) {
    let candidates: XmlNode[] = [];
    for (const candidate of axis(node, budget)) {
      visit(budget);
      if (test(candidate)) candidates.push(candidate);
    }
    for (const predicate of predicates) {
      const size = candidates.length;
      candidates = candidates.filter((candidate, i) => {
        const value = predicate({ node: candidate, position: i + 1, size, budget });
        return typeof value === "number" ? value === i + 1 : isTrue(value);
      });
    }
    for (const candidate of candidates) found.add(candidate);
  }
  const all = [...found];
  return nodes.length > 1 ? all.sort((a, b) => a.order - b.order) : all;
}

function rootOf(node: XmlNode): XmlNode {
  let root = node;
  while (root.parent !== undefined) root = root.parent;
  return root;
}

function nodesOf(value: XPathValue): XmlNode[] {
  if (Array.isArray(value)) return value;
  throw new OttlError("the XPath needs nodes where it has a value");
}

function isTrue(value: XPathValue): boolean {
  if (Array.isArray(value)) return value.length > 0;
  return typeof value === "number" ? value !== 0 && !Number.isNaN(value) : value !== false && value !== "";
}

function toText(value: XPathValue | undefined): string {
  if (Array.isArray(value)) return value[0] === undefined ? "" : innerText(value[0]);
  return String(value ?? "");
}

function toNumber(value: XPathValue): number {
  if (typeof value === "boolean") return value ? 1 : 0;
  const text = toText(value).trim();
  return typeof value === "number" ? value : text === "" ? Number.NaN : Number(text);
}

/** A comparison with nodes holds if it holds for any of them. */
function compareValues(a: XPathValue, operator: string, b: XPathValue): boolean {
  if (Array.isArray(a)) return a.some((node) => compareValues(innerText(node), operator, b));
  if (Array.isArray(b)) return b.some((node) => compareValues(a, operator, innerText(node)));
  if (operator === "=" || operator === "!=") {
    const equal = typeof a === "number" || typeof b === "number" ? toNumber(a) === toNumber(b) : a === b;
    return equal === (operator === "=");
  }
  const [x, y] = [toNumber(a), toNumber(b)];
  if (operator === "<") return x < y;
  if (operator === "<=") return x <= y;
  return operator === ">" ? x > y : x >= y;
}

type XPathFunction = (focus: Focus, args: readonly XPathValue[]) => XPathValue;

const FUNCTIONS: Readonly<Record<string, XPathFunction>> = {
  position: ({ position }) => position,
  last: ({ size }) => size,
  not: (_, [value = false]) => !isTrue(value),
  count: (_, [value = []]) => nodesOf(value).length,
  contains: (_, [a, b]) => toText(a).includes(toText(b)),
  "starts-with": (_, [a, b]) => toText(a).startsWith(toText(b)),
  "ends-with": (_, [a, b]) => toText(a).endsWith(toText(b)),
  "string-length": ({ node }, [value]) => [...toText(value ?? [node])].length,
  "normalize-space": ({ node }, [value]) =>
    toText(value ?? [node])
      .trim()
      .replace(/\s+/g, " "),
  string: ({ node }, [value]) => toText(value ?? [node]),
  number: ({ node }, [value]) => toNumber(value ?? [node]),
  concat: (_, args) => args.map(toText).join(""),
  name: ({ node }, [value]) => (value === undefined ? node : nodesOf(value)[0])?.name ?? "",
  "local-name": ({ node }, [value]) =>
    ((value === undefined ? node : nodesOf(value)[0])?.name ?? "").replace(/^.*:/, ""),
  true: () => true,
  false: () => false,
};
