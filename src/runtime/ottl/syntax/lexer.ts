import { OttlSyntaxError } from "../values/error.js";

type TokenKind = "string" | "int" | "float" | "bytes" | "word" | "symbol" | "end";

/** A piece of the text in [at, end). `text` is the content of a string, otherwise the text as written. */
export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
  readonly at: number;
  readonly end: number;
}

const MAX_TEXT_LENGTH = 65_536;
const SPACE = /\s+/y;
const TOKEN_PATTERNS: readonly (readonly [TokenKind, RegExp])[] = [
  ["bytes", /0x[0-9a-fA-F]+/y],
  ["float", /(?:\d+\.\d*|\d*\.\d+)(?:[eE][-+]?\d+)?/y],
  ["int", /\d+/y],
  ["word", /[A-Za-z_][A-Za-z0-9_]*/y],
  ["symbol", /==|!=|>=|<=|=>|[><=+\-*/()[\]{},.:]/y],
];

/** Splits the text into tokens, the last of kind "end". Throws an `OttlSyntaxError` at an invalid one. */
export function tokenize(text: string): Token[] {
  if (text.length > MAX_TEXT_LENGTH)
    throw new OttlSyntaxError(`longer than ${MAX_TEXT_LENGTH} characters`, MAX_TEXT_LENGTH);
  const tokens: Token[] = [];
  let p = 0;
  while (true) {
    p = skipSpace(text, p);
    if (p >= text.length) break;
    const token = text[p] === '"' ? stringAt(text, p) : tokenAt(text, p);
    tokens.push(token);
    p = token.end;
  }
  tokens.push({ kind: "end", text: "", at: text.length, end: text.length });
  return tokens;
}

function skipSpace(text: string, p: number): number {
  SPACE.lastIndex = p;
  return SPACE.test(text) ? SPACE.lastIndex : p;
}

function tokenAt(text: string, at: number): Token {
  for (const [kind, pattern] of TOKEN_PATTERNS) {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    if (found !== undefined) return { kind, text: found, at, end: at + found.length };
  }
  const character = String.fromCodePoint(text.codePointAt(at)!);
  const hint = character === "'" ? ": strings are written in double quotes" : "";
  throw new OttlSyntaxError(`unexpected ${JSON.stringify(character)}${hint}`, at, character.length);
}

const UNESCAPED_TEXT = /[^"\\]+/y;

function stringAt(text: string, at: number): Token {
  let content = "";
  for (let p = at + 1; p < text.length; ) {
    UNESCAPED_TEXT.lastIndex = p;
    const plain = UNESCAPED_TEXT.exec(text)?.[0] ?? "";
    content += plain;
    p += plain.length;
    if (text[p] === '"') return { kind: "string", text: content, at, end: p + 1 };
    if (p >= text.length) break;
    const [unescaped, next] = byteEscapesAt(text, p) ?? escapeAt(text, p);
    content += unescaped;
    p = next;
  }
  throw new OttlSyntaxError("the string does not end", at, text.length - at);
}

const BYTE_ESCAPES = /(?:\\x[0-9a-fA-F]{2}|\\[0-3][0-7]{2})+/y;

/** Adjacent \x and octal escapes together form bytes of UTF-8. */
function byteEscapesAt(text: string, at: number): [text: string, next: number] | undefined {
  BYTE_ESCAPES.lastIndex = at;
  const match = BYTE_ESCAPES.exec(text)?.[0];
  if (match === undefined) return undefined;
  const bytes = match
    .split("\\")
    .slice(1)
    .map((code) => (code[0] === "x" ? Number.parseInt(code.slice(1), 16) : Number.parseInt(code, 8)));
  return [Buffer.from(bytes).toString("utf8"), BYTE_ESCAPES.lastIndex];
}

const SIMPLE_ESCAPES: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "\\": "\\",
  '"': '"',
};
const UNICODE_ESCAPE = /\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))/y;

/** An escape as in Go. One that Go does not know, such as \d of a pattern, stands for itself. */
function escapeAt(text: string, at: number): [text: string, next: number] {
  const simple = SIMPLE_ESCAPES[text[at + 1] ?? ""];
  if (simple !== undefined) return [simple, at + 2];
  UNICODE_ESCAPE.lastIndex = at;
  const match = UNICODE_ESCAPE.exec(text);
  if (match === null) return ["\\", at + 1];
  const code = Number.parseInt(match[1] ?? match[2]!, 16);
  if (code > 0x10ffff) throw new OttlSyntaxError("no such character", at, match[0].length);
  return [String.fromCodePoint(code), UNICODE_ESCAPE.lastIndex];
}
