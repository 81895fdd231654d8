import { OttlError } from "../../values/error.js";
import { spendWork } from "../../values/limits.js";
import { innerText, type XmlNode } from "./xml-tree.js";

/**
 * The part of XPath that selects nodes: paths of steps (`/a//b/@c`, `..`, `*`, `text()`, `comment()`, `node()`) with
 * predicates of positions, comparisons, `and`, `or`, and the functions in `FUNCTIONS`; several paths with `|` between
 * them. Every visit of a node, every predicate and every text that is compared counts as work on the record.
 */
export type XPath = (document: XmlNode) => XmlNode[];

type XPathValue = string | number | boolean | XmlNode[];

interface Focus {
  readonly node: XmlNode;
  readonly position: number;
  readonly size: number;
  readonly root: XmlNode;
}

type Expression = (focus: Focus) => XPathValue;

/** Throws an `OttlError` with the reason if the path is invalid. */
export function compileXPath(text: string): XPath {
  const expression = new XPathParser(text).whole();
  return (document) => {
    const value = expression({ node: document, position: 1, size: 1, root: document });
    if (!Array.isArray(value)) throw new OttlError("the XPath gives a value, not nodes");
    return value;
  };
}

const TOKEN =
  /\s*(\/\/|\.\.|::|!=|<=|>=|[/.@*|=<>()[\],+-]|"[^"]*"|'[^']*'|\d+(?:\.\d+)?|[A-Za-z_][-.\w]*(?::[A-Za-z_*][-.\w]*)?)/y;
/** Work, in values read: for a visit of a node, a step, a token of a predicate, and a comparison of a sort. */
const VISIT_WORK = 1;
const STEP_WORK = 1;
const TOKEN_WORK = 1;
const SORT_WORK = 0.25;
const SPACE_WORK = 0.25;
const COMPARISONS_PER_UNIT = 512;
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

interface LocationStep {
  readonly axis: Axis;
  readonly test: NodeTest;
  readonly predicates: readonly StepPredicate[];
}

interface StepPredicate {
  readonly holds: Expression;
  /** What each evaluation costs, besides the nodes and texts that it reads. */
  readonly work: number;
}

/**
 * Calls `visit` for the nodes on an axis, in the order of the axis. If `visit` returns false, the rest is left out: for
 * the axes of descendants what is below this node, for the others what follows it.
 */
type Axis = (node: XmlNode, visit: (node: XmlNode) => boolean) => void;

function descendants(node: XmlNode, visit: (node: XmlNode) => boolean): void {
  for (let at = node.children[0]; at !== undefined; ) {
    const goesDown = visit(at);
    at = (goesDown ? at.children[0] : undefined) ?? nextOutside(at, node);
  }
}

/** The next node in the document that is neither below this one nor outside of the top node. */
function nextOutside(node: XmlNode, top: XmlNode): XmlNode | undefined {
  for (let at = node; at !== top; at = at.parent!) {
    const next = at.parent!.children[at.index + 1];
    if (next !== undefined) return next;
  }
  return undefined;
}

function ancestors(node: XmlNode, visit: (node: XmlNode) => boolean): void {
  for (let up = node.parent; up !== undefined && visit(up); ) up = up.parent;
}

function siblings(node: XmlNode, direction: 1 | -1, visit: (node: XmlNode) => boolean): void {
  const all = node.type === "attribute" ? [] : (node.parent?.children ?? []);
  for (let i = node.index + direction; all[i] !== undefined && visit(all[i]!); ) i += direction;
}

const AXES: Readonly<Record<string, Axis>> = {
  child(node, visit) {
    for (const child of node.children) visit(child);
  },
  attribute(node, visit) {
    for (const attribute of node.attributes) visit(attribute);
  },
  self: (node, visit) => void visit(node),
  parent: (node, visit) => void (node.parent !== undefined && visit(node.parent)),
  descendant: descendants,
  "descendant-or-self": (node, visit) => void (visit(node) && descendants(node, visit)),
  ancestor: ancestors,
  "ancestor-or-self": (node, visit) => void (visit(node) && ancestors(node, visit)),
  "following-sibling": (node, visit) => siblings(node, 1, visit),
  "preceding-sibling": (node, visit) => siblings(node, -1, visit),
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
    return (focus) => withoutDuplicates(paths.flatMap((path) => nodesOf(path(focus))));
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
    const steps: LocationStep[] = [];
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
      let nodes = [absolute ? focus.root : focus.node];
      for (const step of steps) nodes = takeStep(nodes, step, focus.root);
      return nodes;
    };
  }

  private beginsStep(): boolean {
    return /^(?:[A-Za-z_*.@]|\.\.)/.test(this.peek());
  }

  private step(): LocationStep {
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

  private predicates(): StepPredicate[] {
    const list: StepPredicate[] = [];
    while (this.take("[")) {
      const start = this.at;
      list.push({ holds: this.or(), work: (this.at - start) * TOKEN_WORK });
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

const ANY_DEPTH: LocationStep = { axis: AXES["descendant-or-self"]!, test: () => true, predicates: [] };

/** Steps are numbered to tell which nodes the current one has come to. */
let lastMark = 0;

function takeStep(nodes: readonly XmlNode[], step: LocationStep, root: XmlNode): XmlNode[] {
  spendWork(STEP_WORK);
  const found = step.predicates.length === 0 ? passingNodes(nodes, step) : chosenNodes(nodes, step, root);
  return nodes.length > 1 ? inDocumentOrder(found) : found;
}

/**
 * A walk that comes to a node where another walk along the same axis has been ends there: that one has found the rest.
 * So each node is visited about once, however many walks there are.
 */
function passingNodes(nodes: readonly XmlNode[], { axis, test }: LocationStep): XmlNode[] {
  const mark = ++lastMark;
  const found: XmlNode[] = [];
  const visit = (node: XmlNode) => {
    spendWork(VISIT_WORK);
    if (node.mark === mark) return false;
    node.mark = mark;
    if (test(node)) found.push(node);
    return true;
  };
  for (const node of nodes) axis(node, visit);
  return found;
}

/** Predicates may ask for positions, so every walk has to visit all of its nodes. */
function chosenNodes(nodes: readonly XmlNode[], { axis, test, predicates }: LocationStep, root: XmlNode): XmlNode[] {
  const found: XmlNode[] = [];
  for (const node of nodes) {
    let candidates: XmlNode[] = [];
    axis(node, (candidate) => {
      spendWork(VISIT_WORK);
      if (test(candidate)) candidates.push(candidate);
      return true;
    });
    for (const predicate of predicates) candidates = candidates.filter(predicateOf(predicate, candidates.length, root));
    for (const candidate of candidates) found.push(candidate);
  }
  return withoutDuplicates(found);
}

function predicateOf({ holds, work }: StepPredicate, size: number, root: XmlNode) {
  return (node: XmlNode, index: number): boolean => {
    spendWork(work);
    const value = holds({ node, position: index + 1, size, root });
    return typeof value === "number" ? value === index + 1 : isTrue(value);
  };
}

function withoutDuplicates(nodes: readonly XmlNode[]): XmlNode[] {
  const mark = ++lastMark;
  return nodes.filter((node) => {
    const isNew = node.mark !== mark;
    node.mark = mark;
    return isNew;
  });
}

function inDocumentOrder(nodes: XmlNode[]): XmlNode[] {
  if (nodes.every((node, i) => i === 0 || nodes[i - 1]!.order < node.order)) return nodes;
  spendWork(nodes.length * Math.log2(nodes.length) * SORT_WORK);
  return nodes.sort((a, b) => a.order - b.order);
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
  if (Array.isArray(a)) {
    const others = Array.isArray(b) ? b.map(innerText) : [b];
    return a.some((node) => {
      const text = innerText(node);
      return others.some((other) => compareValues(text, operator, other));
    });
  }
  if (Array.isArray(b)) return b.some((node) => compareValues(a, operator, innerText(node)));
  spendWork(VISIT_WORK, typeof a === "string" ? a.length : 0);
  if (operator === "=" || operator === "!=") {
    const equal = typeof a === "number" || typeof b === "number" ? toNumber(a) === toNumber(b) : a === b;
    return equal === (operator === "=");
  }
  const [x, y] = [toNumber(a), toNumber(b)];
  if (operator === "<") return x < y;
  if (operator === "<=") return x <= y;
  return operator === ">" ? x > y : x >= y;
}

/** A search may compare every character of one text with every character of the other. */
function containsText(text: string, part: string): boolean {
  spendWork((text.length * part.length) / COMPARISONS_PER_UNIT);
  return text.includes(part);
}

function characterCount(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

function normalizeSpace(text: string): string {
  spendWork(text.length * SPACE_WORK);
  return text.trim().replace(/\s+/g, " ");
}

type XPathFunction = (focus: Focus, args: readonly XPathValue[]) => XPathValue;

const FUNCTIONS: Readonly<Record<string, XPathFunction>> = {
  position: ({ position }) => position,
  last: ({ size }) => size,
  not: (_, [value = false]) => !isTrue(value),
  count: (_, [value = []]) => nodesOf(value).length,
  contains: (_, [a, b]) => containsText(toText(a), toText(b)),
  "starts-with": (_, [a, b]) => toText(a).startsWith(toText(b)),
  "ends-with": (_, [a, b]) => toText(a).endsWith(toText(b)),
  "string-length": ({ node }, [value]) => characterCount(toText(value ?? [node])),
  "normalize-space": ({ node }, [value]) => normalizeSpace(toText(value ?? [node])),
  string: ({ node }, [value]) => toText(value ?? [node]),
  number: ({ node }, [value]) => toNumber(value ?? [node]),
  concat: (_, args) => args.map(toText).join(""),
  name: ({ node }, [value]) => (value === undefined ? node : nodesOf(value)[0])?.name ?? "",
  "local-name": ({ node }, [value]) =>
    ((value === undefined ? node : nodesOf(value)[0])?.name ?? "").replace(/^.*:/, ""),
  true: () => true,
  false: () => false,
};
