import { isAbsolute, join } from "node:path";
import { didYouMean, REDACTED } from "#contract/schema";
import {
  type ListNode,
  listNode,
  type MapEntry,
  type MapNode,
  mapNode,
  type Node,
  nodeAtSpan,
  placeOf,
  type ScalarNode,
  type Span,
  scalarNode,
} from "./node.js";
import { isVariableName, parseSubstitutions, type Substitution, type TextPart } from "./parse-substitutions.js";
import { parseYaml } from "./parse-yaml.js";
import type { Problem } from "./problem.js";
import { SourceText } from "./source-text.js";

export interface SubstitutionContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Returns a file's text, or throws. */
  readonly readFile: (path: string) => string;
  readonly problems: Problem[];
  /** Called for every further file that config is read from. */
  readonly onSource: (source: SourceText) => void;
}

const MAX_FILE_DEPTH = 20;

/** References that lead to each other. Configs use two or three levels. */
const MAX_REFERENCE_DEPTH = 50;

/**
 * Replaces every reference in the values of a tree. A value that consists of one reference becomes what YAML makes of
 * the text, unless that is a string, and keeps the text for string fields; elsewhere the text is inserted. References in
 * what a variable holds are replaced too, as in the Collector.
 */
export function substitute(root: Node, context: SubstitutionContext): Node {
  return new Substituter(context, 0).node(root, "");
}

class Substituter {
  private readonly context: SubstitutionContext;
  private readonly depth: number;
  /** How many references led to the value that is being replaced. */
  private references = 0;

  constructor(context: SubstitutionContext, depth: number) {
    this.context = context;
    this.depth = depth;
  }

  node(node: Node, path: string): Node {
    if (node.kind === "scalar") return this.scalar(node, path);
    if (node.kind === "list") {
      return listNode(
        node,
        node.items.map((item, i) => this.node(item, `${path}.${i}`)),
        this.originalText(node, path),
      );
    }
    const entries = new Map<string, MapEntry>();
    for (const [name, { key, value }] of node.entries) {
      entries.set(name, { key, value: this.node(value, path === "" ? name : `${path}.${name}`) });
    }
    return mapNode(node, entries, this.originalText(node, path));
  }

  private originalText(node: MapNode | ListNode, path: string): string | undefined {
    return node.text === undefined ? undefined : this.text(parseSubstitutions(node.text), node, path);
  }

  private scalar(node: ScalarNode, path: string): Node {
    if (typeof node.value !== "string" || !node.value.includes("$")) return node;
    const parts = parseSubstitutions(node.value);
    const [first] = parts;
    if (parts.length === 1 && typeof first === "object" && !first.bare) return this.replaceWhole(node, first, path);
    const text = this.text(parts, node, path);
    if (parts.every((part) => typeof part === "string" || part.bare))
      return scalarNode(node, text, text, node.substituted);
    const masked = parts.map((part) => (typeof part === "string" ? part : REDACTED)).join("");
    return scalarNode(node, text, text, true, node.substituted ? undefined : masked);
  }

  private replaceWhole(node: ScalarNode, reference: Substitution, path: string): Node {
    const text = this.retrieve(reference, node, path);
    if (text === undefined) return scalarNode(node, null, "", true);
    if (reference.scheme === "file") return this.fileContent(node, reference, text, path);
    if (text === "" && reference.fallback !== undefined && !this.isSet(reference, node, path))
      return scalarNode(node, "", "", true);
    const content = parseSubstituted(node, text);
    return this.inside(node, path, () => this.node(content, path)) ?? scalarNode(node, null, "", true);
  }

  /** The text of literals and references. References in inserted text are replaced as well. */
  private text(parts: readonly TextPart[], span: Span, path: string): string {
    return parts.map((part) => (typeof part === "string" ? part : this.insertedText(part, span, path))).join("");
  }

  private insertedText(reference: Substitution, span: Span, path: string): string {
    const text = this.retrieve(reference, span, path) ?? "";
    if (reference.bare || reference.scheme === "file" || !text.includes("$")) return text;
    return this.inside(span, path, () => this.text(parseSubstitutions(text), span, path)) ?? "";
  }

  /** Replaces what a reference has led to; undefined, with a problem, if references lead to each other. */
  private inside<Result>(span: Span, path: string, replace: () => Result): Result | undefined {
    if (this.references >= MAX_REFERENCE_DEPTH) {
      this.report("error", "reference_cycle", span, path, { message: "the variables refer to each other" });
      return undefined;
    }
    this.references += 1;
    try {
      return replace();
    } finally {
      this.references -= 1;
    }
  }

  /** The text that a reference stands for, as it is; if there is none, adds a problem and returns undefined. */
  private retrieve(reference: Substitution, span: Span, path: string): string | undefined {
    switch (reference.scheme) {
      case "":
        return `\${${this.text(reference.name, span, path)}}`;
      case "env":
        return this.variable(reference, span, path);
      case "file":
        return this.file(this.text(reference.name, span, path), span, path);
      case "yaml":
        return this.text(reference.name, span, path);
      default:
        this.report("error", "unknown_provider", span, path, {
          message: `${reference.scheme}: is not a known source of values; expected env, file or yaml (write $$ for a dollar sign)`,
          ...didYouMean(reference.scheme, ["env", "file", "yaml"]),
        });
        return undefined;
    }
  }

  private isSet(reference: Substitution, span: Span, path: string): boolean {
    return this.valueOf(this.text(reference.name, span, path)) !== undefined;
  }

  /** An empty value counts as set, as in the Collector. */
  private valueOf(name: string): string | undefined {
    return Object.hasOwn(this.context.env, name) ? this.context.env[name] : undefined;
  }

  private variable(reference: Substitution, span: Span, path: string): string | undefined {
    const name = this.text(reference.name, span, path);
    const value = this.valueOf(name);
    if (reference.bare) {
      if (value !== undefined)
        this.report("warning", "bare_variable", span, path, {
          message: `$${name} is kept as text, although there is a variable of this name`,
          suggestion: `write \${env:${name}} for the variable, $$${name} for the text`,
        });
      return reference.text;
    }
    if (value !== undefined) return value;
    if (reference.fallback !== undefined) return this.text(reference.fallback, span, path);
    if (!isVariableName(name)) {
      this.report("error", "invalid_variable", span, path, {
        message: `${JSON.stringify(name)} is not a variable's name`,
      });
      return undefined;
    }
    this.report("warning", "unset_variable", span, path, {
      message: `the environment variable ${name} is not set; the value is empty`,
      suggestion: `set it, or give a default: \${env:${name}:-default}`,
    });
    return undefined;
  }

  private file(path: string, span: Span, keyPath: string): string | undefined {
    try {
      return withoutBom(this.context.readFile(resolvePath(path, span)));
    } catch (error) {
      this.report("error", "unreadable_file", span, keyPath, {
        message: `cannot read ${path}: ${fileErrorReason(error)}`,
      });
      return undefined;
    }
  }

  private fileContent(node: ScalarNode, reference: Substitution, text: string, path: string): Node {
    const name = resolvePath(this.text(reference.name, node, path), node);
    const source = new SourceText(name, text, join(name, ".."));
    const problems: Problem[] = [];
    const content = parseYaml(source, problems);
    if (content === undefined || content.kind === "scalar" || problems.some((p) => p.severity === "error")) {
      return parseSubstituted(node, text.replace(/\r?\n$/, ""));
    }
    if (this.depth >= MAX_FILE_DEPTH) {
      this.report("error", "file_cycle", node, path, { message: `${name} includes itself` });
      return scalarNode(node, null, "", true);
    }
    this.context.problems.push(...problems);
    this.context.onSource(source);
    return new Substituter(this.context, this.depth + 1).node(content, path);
  }

  private report(
    severity: Problem["severity"],
    code: Problem["code"],
    span: Span,
    path: string,
    texts: Pick<Problem, "message" | "suggestion">,
  ): void {
    this.context.problems.push({ severity, code, place: placeOf(span), path, ...texts });
  }
}

/**
 * Parses a text as YAML, with all places at the reference. A text that is not YAML, or that YAML reads as a string, is
 * taken as it is: quotes, spaces and what looks like a comment belong to it, as in the Collector.
 */
function parseSubstituted(span: Span, text: string): Node {
  const problems: Problem[] = [];
  const parsed = parseYaml(new SourceText("", text), problems);
  if (parsed === undefined) return scalarNode(span, text.trim() === "" ? null : text, text, true);
  if (problems.length > 0 || (parsed.kind === "scalar" && typeof parsed.value === "string"))
    return scalarNode(span, text, text, true);
  if (parsed.kind === "scalar") return scalarNode(span, parsed.value, text, true, undefined, parsed.exact);
  const content = nodeAtSpan(parsed, span, true);
  return { ...content, text } as Node;
}

function resolvePath(path: string, span: Span): string {
  return isAbsolute(path) ? path : join(span.source.folder, path);
}

export function withoutBom(text: string): string {
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}

/** Explains why a file could not be read. */
export function fileErrorReason(error: unknown): string {
  const code = (error as { code?: unknown } | undefined)?.code;
  if (code === "ENOENT") return "there is no such file";
  if (code === "EISDIR") return "it is a folder";
  if (code === "EACCES" || code === "EPERM") return "permission denied";
  return error instanceof Error ? error.message : String(error);
}
