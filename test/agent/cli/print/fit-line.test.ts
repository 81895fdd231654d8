import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cutLine, lineWidth, wrapLine } from "../../../../src/agent/cli/print/fit-line.js";

const RED = "\u001b[31m";
const RESET = "\u001b[0m";

describe("lines for a terminal", () => {
  it("are cut to its width, with an ellipsis", () => {
    expect(cutLine("0123456789", 10)).toBe("0123456789");
    expect(cutLine("0123456789", 5)).toBe("0123…");
    expect(cutLine(`${RED}0123456789${RESET}`, 5)).toBe(`${RED}0123…${RESET}`);
  });

  it("count wide characters twice, and combining ones not at all", () => {
    expect(lineWidth("日本")).toBe(4);
    expect(lineWidth("e\u0301")).toBe(1);
    expect(cutLine("日本語", 4)).toBe("日…");
  });

  it("are broken between words, with their colour", () => {
    expect(wrapLine("one two three", 8, "  ")).toEqual(["one two", "  three"]);
    expect(wrapLine(`${RED}one two three${RESET}`, 8)).toEqual([`${RED}one two${RESET}`, `${RED}three${RESET}`]);
    expect(wrapLine("abcdefgh", 3)).toEqual(["abc", "def", "gh"]);
  });

  it("never exceed the width, and lose nothing but spaces when they are wrapped", () => {
    const part = fc.oneof(fc.string({ unit: "grapheme" }), fc.constantFrom(RED, RESET, " ", "日本", "words and words"));
    fc.assert(
      fc.property(fc.array(part), fc.integer({ min: 6, max: 60 }), (parts, columns) => {
        const line = parts
          .map((each) => (each === RED || each === RESET ? each : each.replace(/\p{C}/gu, "")))
          .join("");
        expect(lineWidth(cutLine(line, columns))).toBeLessThanOrEqual(columns);
        const wrapped = wrapLine(line, columns, "  ");
        for (const each of wrapped) expect(lineWidth(each)).toBeLessThanOrEqual(columns);
        // biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with one
        const plain = (text: string) => text.replace(/\u001b\[\d*m|\s/g, "");
        expect(plain(wrapped.join(""))).toBe(plain(line));
      }),
    );
  });
});
