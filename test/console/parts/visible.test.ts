import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { escapeHidden, textRuns } from "../../../console/parts/visible.js";
import { anyCharacter } from "../../support/any-character.js";

const shown = (text: string) => textRuns(text).map(({ text: part, isHidden }) => (isHidden ? `[${part}]` : part));

describe("a text of strangers", () => {
  it.each([
    ["\u001b[31mred", "[ESC][31mred"],
    ["a\u202eb\u2066c", "a[U+202E]b[U+2066]c"],
    ["zero\u200bwidth\ufeff", "zero[U+200B]width[U+FEFF]"],
    ["half \ud83d of it", "half [U+D83D] of it"],
    ["tag \u{e0041}", "tag [U+E0041]"],
    ["line\nend\ttab 😀 é", "line\nend\ttab 😀 é"],
  ])("shows %j as %j", (text, expected) => {
    expect(shown(text).join("")).toBe(expected);
  });

  it("keeps every character, as itself or by name", () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (text) => {
        const runs = textRuns(text);
        const back = runs.map(({ text: part, isHidden }) => {
          if (!isHidden) return part;
          return part === "ESC" ? "\u001b" : String.fromCodePoint(Number.parseInt(part.slice(2), 16));
        });
        expect(back.join("")).toBe(text);
      }),
    );
  });
});

describe("escapeHidden", () => {
  it("changes nothing of what JSON means, and hides nothing", () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (text) => {
        const json = escapeHidden(JSON.stringify({ text }));
        expect(JSON.parse(json)).toEqual({ text });
        expect(textRuns(json).some(({ isHidden }) => isHidden)).toBe(false);
      }),
    );
    expect(escapeHidden('"a\u202eb"')).toBe('"a\\u202eb"');
  });
});
