import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  type Pair,
  parseAllDocuments,
  type Scalar,
} from "yaml";
import { asDouble, type Value } from "#otlp/bytes";
import {
  listNode,
  type MapEntry,
  mapNode,
  mergeNodes,
  type Node,
  type OnConflict,
  type ScalarNode,
  type Span,
  scalarNode,
  spanText,
} from "./node.js";
import type { Problem } from "./problem.js";
import type { SourceText } from "./source-text.js";
import { MAX_DEPTH, plainSyntaxMessage, syntaxProblems, syntaxWarnings } from "./yaml-syntax.js";

/** Far more than any config has, and low enough that a hostile one cannot exhaust the memory. */
const MAX_NODES = 200_000;

/**
 * Parses one YAML document into a tree with places. Never throws: adds what is wrong to `problems`, and returns what
 * could be parsed. Returns undefined for an empty text.
 */
export function parseYaml(source: SourceText, problems: Problem[]): Node | undefined {
  const reader = new YamlReader(source, problems);
  try {
    return reader.read();
  } catch (error) {
    reader.report(
      "yaml_syntax",
      0,
      `cannot be read as YAML: ${plainSyntaxMessage(error instanceof Error ? error.message : String(error))}`,
    );
    return undefined;
  }
}

class YamlReader {
  private readonly source: SourceText;
  private readonly problems: Problem[];
  private readonly anchored = new Map<unknown, Node>();
  /** The last node with each anchor so far. `Alias.resolve` would search the whole document for every alias. */
  private readonly anchors = new Map<string, unknown>();
  private readonly sizes = new Map<Node, number>();
  private nodes = 0;
  private isSilent = false;

  constructor(source: SourceText, problems: Problem[]) {
    this.source = source;
    this.problems = problems;
  }

  read(): Node | undefined {
    const tooDeepAt = findTooDeep(this.source.text);
    if (tooDeepAt !== undefined) {
      this.report("yaml_depth", tooDeepAt, `nested deeper than ${MAX_DEPTH} levels`);
      return undefined;
    }
    const parsed = parseAllDocuments(this.source.text, { uniqueKeys: false, prettyErrors: false });
    if (!Array.isArray(parsed)) return undefined;
    const documents = parsed as Document.Parsed[];
    const [first, second] = documents.filter((document) => hasContent(document));
    const readDocuments = first === undefined ? documents : documents.slice(0, documents.indexOf(first) + 1);
    const syntaxErrors = readDocuments.flatMap((document) => syntaxProblems(this.source, document));
    this.problems.push(...syntaxErrors, ...readDocuments.flatMap((document) => syntaxWarnings(this.source, document)));
    if (second !== undefined) this.warnOfDocument(second.contents!.range[0]);
    if (first === undefined) return undefined;
    // After a syntax error the tree is only good enough to find secrets, so no further problems are reported.
    this.isSilent = syntaxErrors.length > 0;
    const root = this.convert(first.contents, 0, { source: this.source, start: first.range[0], end: first.range[0] });
    return expandKeys(root, (name, earlier, later) => this.reportDuplicate(name, earlier, later));
  }

  report(code: Problem["code"], offset: number, message: string, suggestion?: string): void {
    if (this.isSilent) return;
    this.problems.push({
      severity: "error",
      code,
      place: this.source.placeAt(offset),
      path: "",
      message,
      ...(suggestion === undefined ? {} : { suggestion }),
    });
  }

  private convert(node: unknown, depth: number, where: Span): Node {
    if (depth > MAX_DEPTH) throw new RangeError(`nested deeper than ${MAX_DEPTH} levels`);
    if (isAlias(node)) return this.alias(node, where);
    const span = this.spanOf(node, where);
    const anchor = isNode(node) && "anchor" in node ? node.anchor : undefined;
    if (anchor !== undefined) this.anchors.set(anchor, node);
    const converted = this.convertValue(node, depth, span);
    if (anchor !== undefined) this.anchored.set(node, converted);
    return converted;
  }

  private convertValue(node: unknown, depth: number, span: Span): Node {
    this.count(1);
    const before = this.nodes;
    const converted = isMap(node)
      ? this.map(node.items as Pair[], depth, span)
      : isSeq(node)
        ? listNode(
            span,
            node.items.map((item) => this.convert(item, depth + 1, span)),
          )
        : this.scalar(node, span);
    this.sizes.set(converted, this.nodes - before + 1);
    return converted;
  }

  private scalar(node: unknown, span: Span): ScalarNode {
    if (!isScalar(node)) return scalarNode(span, null);
    const { source: text } = node;
    const value = this.scalarValue(node);
    if (typeof value === "number")
      return scalarNode(span, value, text ?? "", false, undefined, exactNumber(text ?? "", value, node.tag));
    if (value === null || typeof value === "boolean") return scalarNode(span, value, text ?? "");
    return scalarNode(
      span,
      typeof value === "string" ? value : String(value),
      typeof value === "string" ? value : text,
    );
  }

  private scalarValue(node: Scalar): unknown {
    const { value, source: text = "", type, tag } = node;
    const isPlain = type === "PLAIN" && (tag === undefined || tag === "tag:yaml.org,2002:float");
    return isPlain ? (plainNumber(text) ?? value) : value;
  }

  private map(pairs: readonly Pair[], depth: number, span: Span): Node {
    const entries = new Map<string, MapEntry>();
    const merged: Node[] = [];
    for (const pair of pairs) {
      const key = this.spanOf(pair.key, span);
      if (isScalar(pair.key) && pair.key.anchor !== undefined) this.anchors.set(pair.key.anchor, pair.key);
      const value = this.convert(pair.value, depth + 1, key);
      if (isMergeKey(pair.key)) merged.push(...this.mergeSources(value, key));
      else this.addEntry(entries, this.keyText(pair.key, key), { key, value });
    }
    for (const source of merged) {
      if (source.kind !== "map") continue;
      for (const [name, entry] of source.entries) if (!entries.has(name)) entries.set(name, entry);
    }
    return mapNode(span, entries);
  }

  private addEntry(entries: Map<string, MapEntry>, name: string | undefined, entry: MapEntry): void {
    if (name === undefined) return;
    const earlier = entries.get(name);
    if (earlier !== undefined) this.reportDuplicate(name, earlier.key, entry.key);
    // Merges both values of a duplicate key, so that problems in either are reported at once.
    entries.set(name, earlier ? { key: entry.key, value: mergeNodes(earlier.value, entry.value) } : entry);
  }

  private reportDuplicate(name: string, earlier: Span, later: Span): void {
    this.report(
      "duplicate_key",
      later.start,
      `the key ${JSON.stringify(name)} occurs twice; the first is at ${spanText(earlier)}`,
      "remove one of them, or give it another name",
    );
  }

  /** The Collector reads only the first document of a file. */
  private warnOfDocument(contents: number): void {
    this.problems.push({
      severity: "warning",
      code: "yaml_documents",
      place: this.source.placeAt(this.source.text.lastIndexOf("\n---", contents) + 1),
      path: "",
      message: "a second YAML document starts here; only the first is read, as in the Collector",
      suggestion: "write one document per file, and give each file its own --config",
    });
  }

  private keyText(key: unknown, span: Span): string | undefined {
    if (isScalar(key) && key.value !== null) return typeof key.value === "string" ? key.value : (key.source ?? "");
    if (isAlias(key)) {
      const target = this.alias(key, span);
      if (target.kind === "scalar") return target.text;
    }
    this.report(
      "yaml_syntax",
      span.start,
      isScalar(key) || key === null ? "a key is missing here" : "a key must be a word",
    );
    return undefined;
  }

  private mergeSources(value: Node, key: Span): readonly Node[] {
    const sources = value.kind === "list" ? value.items : [value];
    if (sources.some((source) => source.kind !== "map")) {
      this.report("yaml_syntax", key.start, "a merge key (<<) takes a map, an alias of one, or a list of these");
    }
    return sources;
  }

  private alias(node: Alias, where: Span): Node {
    const span = this.spanOf(node, where);
    const target = this.anchors.get(node.source);
    const converted = target === undefined ? undefined : this.anchored.get(target);
    if (converted === undefined) {
      const why = target === undefined ? "there is no anchor of this name above it" : "it is inside its own anchor";
      this.report("yaml_syntax", span.start, `this alias cannot be followed: ${why}`);
      return scalarNode(span, null);
    }
    this.count(this.sizes.get(converted) ?? 1);
    return converted;
  }

  private count(nodes: number): void {
    this.nodes += nodes;
    if (this.nodes > MAX_NODES) throw new RangeError(`more than ${MAX_NODES} values, counting every use of an alias`);
  }

  private spanOf(node: unknown, otherwise: Span): Span {
    const range = isNode(node) ? node.range : undefined;
    return range ? { source: this.source, start: range[0], end: range[1] } : otherwise;
  }
}

function hasContent(document: Document.Parsed): boolean {
  const { contents } = document;
  return contents !== null && !(isScalar(contents) && contents.value === null && contents.source === "");
}

function isMergeKey(key: unknown): boolean {
  return isScalar(key) && key.value === "<<" && key.type === "PLAIN";
}

/**
 * Offset where a text has more open brackets, or nested compact lists (`- - -`), than the YAML parser's recursion can
 * handle. Counts brackets in strings and comments too; the limit is far above what those add up to.
 */
function findTooDeep(text: string): number | undefined {
  let open = 0;
  // Linear: at most 1,000 steps from each start.
  for (const match of text.matchAll(/[[{\]}]|(?:[-?:][ \t]+){1000}/g)) {
    if (match[0].length > 1) return match.index;
    open += match[0] === "[" || match[0] === "{" ? 1 : -1;
    if (open > 1000) return match.index;
    if (open < 0) open = 0;
  }
  return undefined;
}

const FLOAT = /^[-+]?(\.\d+|\d+(\.\d*)?)(e[-+]?\d+)?$/i;

/** Prefixes of integers that are not decimal. A leading zero means octal, as in Go. */
const BASES: readonly (readonly [RegExp, number])[] = [
  [/^0x([\da-f]+)$/i, 16],
  [/^0b([01]+)$/i, 2],
  [/^0o?([0-7]+)$/i, 8],
];

/**
 * The number that an unquoted text means in the Collector, which uses Go's YAML: `50_000`, `0x1F`, `0b11`, `0o17`,
 * `017` and YAML 1.2's numbers. Undefined for anything else.
 */
function plainNumber(text: string): number | undefined {
  if (!/^[-+.\d]/.test(text)) return undefined;
  const written = text.replaceAll("_", "");
  const digits = written.replace(/^[-+]/, "");
  for (const [pattern, base] of BASES) {
    const match = pattern.exec(digits);
    if (match !== null) return Number.parseInt(match[1]!, base) * (written.startsWith("-") ? -1 : 1);
  }
  return FLOAT.test(written) ? Number(written) : undefined;
}

/** A number with its type in Go's YAML: an integer that fits 64 bits, or else a double. */
function exactNumber(text: string, value: number, tag: string | undefined): Value {
  const written = text.replaceAll("_", "").replace(/^\+/, "");
  const digits = written.replace(/^-/, "");
  const octal = digits.replace(/^0(?=[0-7])/, "0o");
  const isInteger = /^(0|[1-9]\d*)$/.test(digits) || BASES.some(([pattern]) => pattern.test(digits));
  if (!isInteger || tag?.endsWith("float")) return asDouble(value);
  if (Number.isSafeInteger(value)) return value;
  const exact = BigInt(octal.toLowerCase()) * (written.startsWith("-") ? -1n : 1n);
  const fits = exact >= -(2n ** 63n) && exact < 2n ** 64n;
  return fits ? BigInt.asIntN(64, exact) : asDouble(value);
}

/**
 * Expands keys such as `service::pipelines` to nested maps, as the Collector does. Keys inside lists are not expanded,
 * as in the Collector. `onConflict` is called for a value that is written in both forms.
 */
function expandKeys(node: Node, onConflict: OnConflict): Node {
  if (node.kind !== "map") return node;
  const entries = new Map<string, MapEntry>();
  for (const [name, { key, value }] of node.entries) {
    const [first, ...rest] = keyPath(name);
    const expanded = nested(rest, key, expandKeys(value, onConflict));
    const earlier = entries.get(first);
    if (earlier !== undefined && !(earlier.value.kind === "map" && expanded.kind === "map"))
      onConflict(first, earlier.key, key);
    entries.set(first, { key, value: earlier ? mergeNodes(earlier.value, expanded, onConflict) : expanded });
  }
  return mapNode(node, entries);
}

/** The path that a key stands for. A key with an empty part around its `::` stays as it is. */
function keyPath(name: string): readonly [string, ...string[]] {
  const path = name.split("::");
  return path.includes("") ? [name] : (path as [string, ...string[]]);
}

function nested(path: readonly string[], key: Span, value: Node): Node {
  return path.reduceRight((inner, name) => mapNode(key, new Map([[name, { key, value: inner }]])), value);
}
