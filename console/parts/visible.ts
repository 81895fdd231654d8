/** A part of a text: visible characters, or the name of a character that is hidden or misleading. */
export interface TextRun {
  readonly text: string;
  readonly isHidden: boolean;
}

/**
 * Control characters (including terminal escapes), characters that change the writing direction, characters without
 * width, and lone surrogates. Line breaks and tabs are allowed.
 */
const HIDDEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression looks for control characters
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|\u{e0000}|[\u{e0001}-\u{e007f}]/gu;

/** Splits a text into runs; the visible runs joined are the text without its hidden characters. */
export function textRuns(text: string): TextRun[] {
  const runs: TextRun[] = [];
  let at = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (match.index > at) runs.push({ text: text.slice(at, match.index), isHidden: false });
    runs.push({ text: nameOf(match[0]), isHidden: true });
    at = match.index + match[0].length;
  }
  if (at < text.length) runs.push({ text: text.slice(at), isHidden: false });
  return runs;
}

/** Equivalent JSON with hidden or misleading characters written as escapes. */
export function escapeHidden(json: string): string {
  return json.replace(HIDDEN, (character) => {
    const units = Array.from({ length: character.length }, (_, i) => character.charCodeAt(i));
    return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
  });
}

function nameOf(character: string): string {
  const code = character.codePointAt(0)!;
  if (code === 0x1b) return "ESC";
  return `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}
