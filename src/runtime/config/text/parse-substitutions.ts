/**
 * The syntax of `$` in config values; names are resolved elsewhere:
 *
 * - `$$` is a dollar sign;
 * - `${env:NAME}`, `${env:NAME:-default}`, `${file:path}`, `${yaml:text}` and the short `${NAME}`, `${NAME:-default}`;
 * - `$NAME`, an old form that stands for itself too, but is told apart for a warning: upper-case names only, not within
 *   a word and not directly before another `$`;
 * - any other `$` stands for itself: `$1`, `${1}`, `$apr1$...`, the `$` at the end of a regular expression.
 *
 * Names, schemes and defaults may contain substitutions, nested up to `MAX_DEPTH`; deeper ones are literal text.
 */
export type TextPart = string | Substitution;

export interface Substitution {
  /** Empty when a substitution is part of it: `name` is everything in the braces then. */
  readonly scheme: string;
  /** The parts after the scheme: `X` of `${env:X}`. */
  readonly name: readonly TextPart[];
  /** The parts after `:-`; undefined when there is no default. Only variables have defaults. */
  readonly fallback: readonly TextPart[] | undefined;
  /** As written. */
  readonly text: string;
  /** True for the old form `$NAME`. */
  readonly bare: boolean;
}

/** Splits a text into literals and references. A text without `$` is returned as one literal. */
export function parseSubstitutions(text: string, depth = 0): readonly TextPart[] {
  if (depth > MAX_DEPTH || !text.includes("$")) return [text];
  const parts: TextPart[] = [];
  let literal = "";
  let at = 0;
  while (at < text.length) {
    const token = text[at] === "$" ? readDollar(text, at, depth) : undefined;
    if (token === undefined) {
      literal += text[at];
      at += 1;
      continue;
    }
    if (typeof token.part === "string") literal += token.part;
    else {
      if (literal !== "") parts.push(literal);
      parts.push(token.part);
      literal = "";
    }
    at = token.end;
  }
  if (literal !== "" || parts.length === 0) parts.push(literal);
  return parts;
}

interface DollarToken {
  readonly part: TextPart;
  readonly end: number;
}

const MAX_DEPTH = 50;
const BARE = /(?<![A-Za-z0-9])\$([A-Z_][A-Z0-9_]*)(?![A-Za-z0-9_$])/y;
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const SCHEME = /^([A-Za-z][A-Za-z0-9+.-]*):(?!-)/;

function readDollar(text: string, at: number, depth: number): DollarToken | undefined {
  if (text[at + 1] === "$") return { part: "$", end: at + 2 };
  if (text[at + 1] === "{") return readBraces(text, at, depth);
  BARE.lastIndex = at;
  const bare = BARE.exec(text);
  if (bare === null || bare[1] === "_") return undefined;
  return { part: variableSubstitution([bare[1]!], undefined, bare[0], true), end: BARE.lastIndex };
}

function readBraces(text: string, at: number, depth: number): DollarToken | undefined {
  const end = closingBrace(text, at + 2);
  if (end === -1) return undefined;
  const reference = readSubstitution(text.slice(at + 2, end), text.slice(at, end + 1), depth);
  return reference && { part: reference, end: end + 1 };
}

function readSubstitution(inside: string, text: string, depth: number): Substitution | undefined {
  if (inside.startsWith("${"))
    return { scheme: "", name: parseSubstitutions(inside, depth + 1), fallback: undefined, text, bare: false };
  const scheme = SCHEME.exec(inside)?.[1];
  if (scheme !== undefined && scheme !== "env") {
    return {
      scheme,
      name: parseSubstitutions(inside.slice(scheme.length + 1), depth + 1),
      fallback: undefined,
      text,
      bare: false,
    };
  }
  const rest = scheme === "env" ? inside.slice(4) : inside;
  const separator = indexOutsideBraces(rest, ":-");
  const name = separator === -1 ? rest : rest.slice(0, separator);
  if (scheme === undefined && !NAME.test(name)) return undefined;
  const fallback = separator === -1 ? undefined : parseSubstitutions(rest.slice(separator + 2), depth + 1);
  return variableSubstitution(parseSubstitutions(name, depth + 1), fallback, text, false);
}

function variableSubstitution(
  name: readonly TextPart[],
  fallback: readonly TextPart[] | undefined,
  text: string,
  bare: boolean,
): Substitution {
  return { scheme: "env", name, fallback, text, bare };
}

function indexOutsideBraces(text: string, wanted: string): number {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    if (depth === 0 && text.startsWith(wanted, i)) return i;
    if (text[i] === "{") depth += 1;
    if (text[i] === "}") depth -= 1;
  }
  return -1;
}

/** Offset of the brace that closes the one before `at`; skips nested pairs. */
function closingBrace(text: string, at: number): number {
  let depth = 1;
  for (let i = at; i < text.length; i++) {
    if (text[i] === "{") depth += 1;
    if (text[i] === "}") depth -= 1;
    if (depth === 0) return i;
  }
  return -1;
}

export function isVariableName(name: string): boolean {
  return NAME.test(name);
}
