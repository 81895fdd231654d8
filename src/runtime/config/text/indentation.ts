import type { YAMLParseError } from "yaml";
import type { SourceText } from "./source-text.js";

interface ContentLine {
  readonly number: number;
  /** Offset of the first character that is not a space. */
  readonly offset: number;
  /** Number of spaces before it. */
  readonly indent: number;
  readonly text: string;
}

/**
 * Finds the line whose indentation causes an error of the YAML parser, which often reports the line before it. Returns
 * undefined for errors with other causes.
 */
export function wrongIndentation(
  source: SourceText,
  { code, message, pos: [at] }: YAMLParseError,
): { readonly offset: number; readonly message: string } | undefined {
  const isNested = message.startsWith("Nested mappings");
  if (
    !isNested &&
    code !== "BLOCK_AS_IMPLICIT_KEY" &&
    !/^All (mapping|sequence) items|^Sequence item without/.test(message)
  )
    return undefined;
  const lines = contentLines(source);
  const index = lines.findIndex(({ offset }) => (isNested ? offset > at : offset >= at));
  const line = lines[index];
  const before = lines[index - 1];
  if (line === undefined || before === undefined) return undefined;
  if (line.indent > before.indent + dashesOf(before.text) && hasValue(before.text))
    return {
      offset: line.offset,
      message: `this line is indented more than line ${before.number}, which has a value already`,
    };
  const fitting = openIndents(lines.slice(0, index));
  if (isNested || fitting.includes(line.indent)) return undefined;
  const lower = fitting.findLast((indent) => indent < line.indent);
  const upper = fitting.find((indent) => indent > line.indent);
  const expected = [lower, upper].filter((indent) => indent !== undefined);
  return {
    offset: line.offset,
    message: `this line is indented by ${spaces(line.indent)}, which fits no line above it: expected ${expected.join(" or ")}`,
  };
}

function contentLines(source: SourceText): ContentLine[] {
  const lines: ContentLine[] = [];
  for (let number = 1; ; number++) {
    const range = source.lineRange(number);
    if (range === undefined) return lines;
    const text = source.text.slice(range.start, range.end);
    const indent = text.length - text.trimStart().length;
    if (text.trim() !== "" && text[indent] !== "#")
      lines.push({ number, indent, offset: range.start + indent, text: text.trim() });
  }
}

/** The columns, in ascending order, at which the next line may begin. */
function openIndents(lines: readonly ContentLine[]): number[] {
  let open: number[] = [];
  for (const { indent, text } of lines) {
    open = [...open.filter((each) => each < indent), indent];
    const dashes = dashesOf(text);
    if (dashes > 0) open.push(indent + dashes);
  }
  return open;
}

/** The number of characters before the first key or value of a list item. */
function dashesOf(text: string): number {
  return /^(?:- +)*/.exec(text)![0].length;
}

/** Whether a line is a key with a value on the same line. */
function hasValue(text: string): boolean {
  // Linear: it starts once, and a colon and the spaces behind it are read once.
  return /^(?:- +)*[^\s'"[{|>&*][^'"]*?:\s+[^\s#|>&]/.test(text);
}

function spaces(count: number): string {
  return count === 1 ? "1 space" : `${count} spaces`;
}
