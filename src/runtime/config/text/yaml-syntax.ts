import { type Document, isCollection, isScalar, visit, type YAMLParseError } from "yaml";
import { wrongIndentation } from "./indentation.js";
import type { Problem } from "./problem.js";
import type { SourceText } from "./source-text.js";

/** Far more than any config has, and low enough that a hostile one cannot exhaust the stack. */
export const MAX_DEPTH = 200;

/**
 * Turns the YAML parser's errors into problems with useful messages and places. One mistake often causes several
 * errors: only the first error of a line is reported, and none after an unclosed bracket.
 */
export function syntaxProblems(source: SourceText, document: Document.Parsed): Problem[] {
  const errors = document.errors.map((error) => ({ error, opening: openingOf(document, source.text, error) }));
  const firstOpening = Math.min(...errors.map(({ opening }) => opening ?? Number.POSITIVE_INFINITY));
  const lines = new Set<number>();
  return errors.flatMap(({ error, opening }) => {
    const offset = opening ?? error.pos[0];
    const { line } = source.placeAt(offset);
    if (lines.has(line) || (opening === undefined && offset > firstOpening)) return [];
    lines.add(line);
    return [syntaxProblem(source, error, opening)];
  });
}

/** The parser's warnings about a document: unknown tags. */
export function syntaxWarnings(source: SourceText, document: Document.Parsed): Problem[] {
  return document.warnings.map(({ pos, message }) => ({
    severity: "warning",
    code: "yaml_tag",
    place: source.placeAt(pos[0]),
    path: "",
    message: plainSyntaxMessage(message),
  }));
}

function syntaxProblem(source: SourceText, error: YAMLParseError, opening: number | undefined): Problem {
  const offset = opening ?? error.pos[0];
  const base = { severity: "error", code: "yaml_syntax", path: "" } as const;
  const unquoted = unquotedSubstitution(source, error.pos[0]) ?? unquotedSubstitution(source, offset);
  if (unquoted === undefined) {
    const indentation = opening === undefined ? wrongIndentation(source, error) : undefined;
    if (indentation !== undefined)
      return { ...base, place: source.placeAt(indentation.offset), message: indentation.message };
    const message = opening === undefined ? plainSyntaxMessage(error.message) : unclosedMessage(source.text[opening]!);
    return { ...base, place: source.placeAt(offset), message };
  }
  return {
    ...base,
    place: source.placeAt(unquoted.offset),
    message: "inside [ ] and { }, YAML reads the { of a substitution as the start of a map",
    suggestion: `write it in quotes: "${unquoted.text}"`,
  };
}

const CLOSERS: Readonly<Record<string, string>> = { "[": "]", "{": "}" };

function unclosedMessage(opener: string): string {
  return `this ${opener} is not closed: a ${CLOSERS[opener] ?? opener} is missing`;
}

/** Offset of the unclosed bracket or quote that causes an error: the parser reports only where it got stuck. */
function openingOf(document: Document.Parsed, text: string, { message, pos }: YAMLParseError): number | undefined {
  if (!/^Flow (map|sequence) in block|^Missing closing/.test(message)) return undefined;
  let opening: number | undefined;
  visit(document, {
    Node(_, node) {
      const [start, end] = node.range ?? [0, 0];
      const isOpen = (isCollection(node) && node.flow === true) || isScalar(node);
      if (isOpen && /["'[{]/.test(text[start] ?? "") && start < pos[0] && end >= pos[0]) opening = start;
    },
  });
  return opening;
}

/** The search for substitutions that need quotes takes long in longer lines. */
const MAX_SHOWN_LINE = 300;

function unquotedSubstitution(source: SourceText, at: number): { offset: number; text: string } | undefined {
  const range = source.lineRange(source.placeAt(at).line);
  if (range === undefined) return undefined;
  const text = source.text.slice(range.start, Math.min(range.end, range.start + MAX_SHOWN_LINE));
  // At most 300 characters.
  const match = /(?:^|[^$])[[{](?:[^"']*[\s,])?([^\s"',[\]{}]*\$\{[^}]*\}[^\s"',[\]{}]*)/.exec(text);
  if (match?.[1] === undefined) return undefined;
  return { offset: range.start + match.index + match[0].length - match[1].length, text: match[1] };
}

/**
 * Replaces the parser's token names, which mean nothing to users, and its quotes of the source, which may contain
 * secrets.
 */
export function plainSyntaxMessage(message: string): string {
  if (message.startsWith("Nested mappings")) return 'a value that contains ": " must be in quotes';
  if (/call stack/.test(message)) return `nested deeper than ${MAX_DEPTH} levels`;
  return message
    .replace(/: [^:]*$/s, "")
    .replace("flow-map-start", "{")
    .replace("flow-map-end", "}")
    .replace("flow-seq-start", "[")
    .replace("flow-seq-end", "]");
}
