/** A piece of an expression. Texts and numbers carry their value. */
export interface ExpressionToken {
  readonly kind: "number" | "text" | "name" | "sign" | "end";
  readonly text: string;
  readonly value?: string | number | bigint;
  readonly at: number;
}

/** Longest first. */
const SIGNS = "** == != <= >= && || ?? ?. .. + - * / % ^ < > ! ? : , . ( ) [ ] { } | # ; =".split(" ");

export function tokenize(source: string): ExpressionToken[] {
  const tokens: ExpressionToken[] = [];
  for (let at = 0; at < source.length; ) {
    const token = readToken(source, at);
    if (token === undefined) {
      at++;
      continue;
    }
    tokens.push(token);
    at += token.text.length;
  }
  tokens.push({ kind: "end", text: "", at: source.length });
  return tokens;
}

const NUMBER = /0x[0-9a-fA-F_]+|(?:\d[\d_]*)(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?|\.\d[\d_]*(?:[eE][+-]?\d+)?/y;
const NAME = /[$A-Za-z_][$\w]*/y;

/** Returns undefined for white space. */
function readToken(source: string, at: number): ExpressionToken | undefined {
  const char = source[at]!;
  if (/\s/.test(char)) return undefined;
  const number = matchAt(NUMBER, source, at);
  if (number !== undefined && !(char === "." && source[at + 1] === ".")) {
    const digits = number.endsWith(".") ? number.slice(0, -1) : number;
    return { kind: "number", text: digits, value: numberOf(digits.replaceAll("_", "")), at };
  }
  if (char === '"' || char === "'" || char === "`") return readText(source, at);
  const name = matchAt(NAME, source, at);
  if (name !== undefined) return { kind: "name", text: name, at };
  const sign = SIGNS.find((each) => source.startsWith(each, at));
  if (sign === undefined) throw new ExpressionError(`${JSON.stringify(char)} is not understood`, at);
  return { kind: "sign", text: sign, at };
}

/** A number without a fraction or an exponent is an integer. */
function numberOf(digits: string): number | bigint {
  return /^(?:\d+|0x.+)$/.test(digits) ? BigInt(digits) : Number(digits);
}

function matchAt(pattern: RegExp, source: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(source)?.[0];
}

const ESCAPES: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", a: "\x07", b: "\b", f: "\f", v: "\v" };

function readText(source: string, at: number): ExpressionToken {
  const quote = source[at]!;
  let value = "";
  for (let i = at + 1; i < source.length; i++) {
    const char = source[i]!;
    if (char === quote) return { kind: "text", text: source.slice(at, i + 1), value, at };
    if (char !== "\\" || quote === "`") {
      value += char;
      continue;
    }
    const escaped = source[++i] ?? "";
    const hex = /^(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\})/.exec(source.slice(i, i + 10));
    if (hex !== null) {
      value += String.fromCodePoint(Math.min(0x10ffff, Number.parseInt(hex[1] ?? hex[2] ?? hex[3]!, 16)));
      i += hex[0].length - 1;
    } else if (Object.hasOwn(ESCAPES, escaped)) value += ESCAPES[escaped];
    else if (/[\\'"`]/.test(escaped)) value += escaped;
    else throw new ExpressionError(`\\${escaped} is not an escape; write \\\\${escaped} for a backslash`, i - 1);
  }
  throw new ExpressionError("a text has no end", at);
}

/** Why an expression is invalid (with the place in its text), or why it has no value for this data (without). */
export class ExpressionError extends Error {
  readonly at: number | undefined;

  constructor(message: string, at?: number) {
    super(at === undefined ? message : `${message}, at character ${at + 1}`);
    this.at = at;
  }
}
