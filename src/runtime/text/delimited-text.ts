import { TextError } from "./text-error.js";

/** Parses pairs of text; quoted parts, with either kind of quote, are kept together. */
export function parseKeyValue(text: string, delimiter: string, pairDelimiter: string): Map<string, string> {
  if (text === "") throw new TextError("ParseKeyValue: the text is empty");
  const map = new Map<string, string>();
  for (const pair of splitQuoted(text, pairDelimiter)) {
    const at = pair.indexOf(delimiter);
    if (at < 0)
      throw new TextError(`ParseKeyValue: no ${JSON.stringify(delimiter)} in ${JSON.stringify(pair.slice(0, 40))}`);
    map.set(pair.slice(0, at).trim(), pair.slice(at + delimiter.length).trim());
  }
  return map;
}

/** The parts between delimiters outside quotes, without the quotes and without empty parts. */
function splitQuoted(text: string, delimiter: string): string[] {
  const parts: string[] = [];
  let current = "";
  let quote = "";
  let escaped = false;
  for (let i = 0; i < text.length; i++) {
    if (quote === "" && text.startsWith(delimiter, i)) {
      if (current !== "") parts.push(current);
      current = "";
      i += delimiter.length - 1;
      continue;
    }
    const c = text[i]!;
    if (escaped) escaped = false;
    else if (quote === "" && (c === '"' || c === "'")) {
      quote = c;
      continue;
    } else if (c === quote) {
      quote = "";
      continue;
    } else escaped = c === "\\";
    current += c;
  }
  if (quote !== "") throw new TextError("ParseKeyValue: a quoted value does not end");
  if (current !== "") parts.push(current);
  return parts;
}

/** The fields of one row; newlines at its ends are dropped, others belong to their field. */
export function parseCsvRow(row: string, delimiter: string, mode: "strict" | "lazyQuotes" | "ignoreQuotes"): string[] {
  const text = withoutLineEnds(row);
  if (mode === "ignoreQuotes") return row.split(delimiter);
  if (text === "") throw new TextError("ParseCSV: the row is empty");
  const fields: string[] = [];
  let p = 0;
  while (true) {
    const [field, end] = text[p] === '"' ? quotedField(text, p, delimiter, mode) : bareField(text, p, delimiter, mode);
    fields.push(field);
    if (end >= text.length) return fields;
    p = end + delimiter.length;
  }
}

function withoutLineEnds(row: string): string {
  const isLineEnd = (at: number) => row[at] === "\n" || row[at] === "\r";
  let from = 0;
  let to = row.length;
  while (from < to && isLineEnd(from)) from++;
  while (to > from && isLineEnd(to - 1)) to--;
  return row.slice(from, to);
}

function bareField(text: string, p: number, delimiter: string, mode: string): [field: string, end: number] {
  const at = text.indexOf(delimiter, p);
  const end = at < 0 ? text.length : at;
  const field = text.slice(p, end);
  if (mode === "strict" && field.includes('"')) throw new TextError("ParseCSV: a quote in a field without quotes");
  return [field, end];
}

function quotedField(text: string, p: number, delimiter: string, mode: string): [field: string, end: number] {
  let field = "";
  for (let i = p + 1; i < text.length; i++) {
    if (text[i] !== '"') field += text[i];
    else if (text[i + 1] === '"') {
      field += '"';
      i++;
    } else if (i + 1 === text.length || text.startsWith(delimiter, i + 1)) return [field, i + 1];
    else if (mode === "strict") throw new TextError("ParseCSV: text after a quoted field");
    else field += '"';
  }
  if (mode === "strict") throw new TextError("ParseCSV: a quoted field does not end");
  return [field, text.length];
}

/**
 * Yields the lines of a text that arrives in pieces, without their newlines, and reads no faster than they are taken.
 * `tooLong` creates the error to throw when a line grows beyond `longest` characters.
 */
export async function* splitLines(
  chunks: AsyncIterable<string>,
  maxLength = Number.POSITIVE_INFINITY,
  createError: () => Error = () => new RangeError("a line is too long"),
): AsyncGenerator<string> {
  let pieces: string[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    const [first = "", ...more] = chunk.split("\n");
    pieces.push(first);
    length += first.length;
    if (length > maxLength) throw createError();
    if (more.length === 0) continue;
    yield pieces.join("");
    yield* more.slice(0, -1);
    pieces = [more.at(-1)!];
    length = pieces[0]!.length;
  }
  if (length > 0) yield pieces.join("");
}

/** The text without these characters at its end, in time linear in the text, which `/[...]+$/` is not. */
export function withoutEnd(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text[end - 1]!)) end--;
  return text.slice(0, end);
}
