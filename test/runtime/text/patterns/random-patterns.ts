import fc from "fast-check";
import { RE2JS } from "re2js";

const LETTERS = ["a", "b", "k", "s", "K", "0", "1", ".", "-", "@", " ", "\n", "\r", "é", "\u212a", "ſ", "😀", "\u2028"];

/** Texts of few different characters, so that random patterns match in them. */
export function texts(): fc.Arbitrary<string> {
  return fc.array(fc.constantFrom(...LETTERS), { maxLength: 14 }).map((list) => list.join(""));
}

/** Patterns in RE2 syntax, built so that all of them are valid. */
export function patterns(): fc.Arbitrary<string> {
  const atoms = fc.constantFrom(
    ...[
      "a",
      "b",
      "k",
      "s",
      "0",
      "\\.",
      "-",
      "@",
      "é",
      "😀",
      ".",
      "\\d",
      "\\w",
      "\\s",
      "\\W",
      "\\D",
      "\\S",
      "\\pL",
      "\\PN",
    ],
    ...[
      "[ab]",
      "[^a]",
      "[a-k]",
      "[^\\d.]",
      "[\\w.-]",
      "[[:alpha:]]",
      "[[:^space:]]",
      "[^\\pL]",
      "\\x{1F600}",
      "\\Qb.\\E",
    ],
  );
  const assertions = fc.constantFrom("^", "$", "\\b", "\\B", "\\A", "\\z");
  const counts = fc.constantFrom("", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{1,}", "{0,2}?");
  const { pattern } = fc.letrec<{ pattern: string; item: string }>((tie) => ({
    item: fc.oneof(
      { maxDepth: 2 },
      { weight: 6, arbitrary: fc.tuple(atoms, counts).map(([atom, count]) => quantified(atom, count)) },
      { weight: 1, arbitrary: assertions },
      {
        weight: 3,
        arbitrary: fc
          .tuple(fc.constantFrom("(", "(?:", "(?i:", "(?s:", "(?U:", "(?m:", "(?i-s:"), tie("pattern"), counts)
          .map(([open, inner, count]) => `${open}${inner})${count}`),
      },
    ),
    pattern: fc
      .array(fc.array(tie("item"), { maxLength: 3 }), { minLength: 1, maxLength: 2 })
      .map((branches) => branches.map((items) => items.join("")).join("|")),
  }));
  return fc
    .tuple(fc.constantFrom("", "", "", "(?i)", "(?s)", "(?m)", "(?U)"), pattern)
    .map(([flags, rest]) => flags + rest);
}

function quantified(atom: string, count: string): string {
  return atom.startsWith("\\Q") && count !== "" ? `(?:${atom})${count}` : atom + count;
}

export function compilesInReference(source: string): boolean {
  try {
    RE2JS.compile(source);
    return true;
  } catch {
    return false;
  }
}
