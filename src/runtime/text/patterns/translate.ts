import { type CharSet, complement, highest, MAX_CODE_POINT } from "./char-set.js";
import type { Assertion, PatternNode, PatternSyntax } from "./syntax.js";

/**
 * Translates the pattern for JavaScript's engine if it finds the same match with the same groups as RE2. Returns
 * undefined where the two differ: in JavaScript an empty iteration ends a repetition, each iteration forgets the groups
 * of the previous one, and an assertion alone can hold between the two halves of a character.
 *
 * No flag is used except `u`, and only where it makes a difference: case, lines and dots are spelled out, because
 * JavaScript treats them differently. With `u` a character beyond the Basic Multilingual Plane is one character, not
 * two.
 */
export function translate({ root }: PatternSyntax): RegExp | undefined {
  const matchesNothing = isNullable(root);
  if (!isSame(root) || (matchesNothing && hasLocalAssertion(root))) return undefined;
  return new RegExp(write(root), needsUnicode(root) || matchesNothing ? "gu" : "g");
}

/** Whether it can match the empty text. */
export function isNullable(node: PatternNode): boolean {
  switch (node.kind) {
    case "set":
      return false;
    case "assertion":
      return true;
    case "sequence":
      return node.parts.every(isNullable);
    case "choice":
      return node.parts.some(isNullable);
    case "repeat":
      return node.min === 0 || isNullable(node.part);
    case "group":
      return isNullable(node.part);
  }
}

function isSame(node: PatternNode): boolean {
  switch (node.kind) {
    case "set":
    case "assertion":
      return true;
    case "sequence":
    case "choice":
      return node.parts.every(isSame);
    case "group":
      return isSame(node.part);
    case "repeat":
      if (node.max === 0 || isNullable(node.part) || !isSame(node.part)) return false;
      return node.max === 1 || !skipsGroups(node.part);
  }
}

/** Whether it contains groups that a match of it can leave out. */
function skipsGroups(node: PatternNode): boolean {
  switch (node.kind) {
    case "set":
    case "assertion":
      return false;
    case "sequence":
      return node.parts.some(skipsGroups);
    case "choice":
      return node.parts.some(hasGroups);
    case "group":
      return skipsGroups(node.part);
    case "repeat":
      return node.min === 0 ? hasGroups(node.part) : skipsGroups(node.part);
  }
}

function hasLocalAssertion(node: PatternNode): boolean {
  if (node.kind === "assertion") return node.assertion !== "start" && node.assertion !== "end";
  if (node.kind === "sequence" || node.kind === "choice") return node.parts.some(hasLocalAssertion);
  return node.kind !== "set" && hasLocalAssertion(node.part);
}

function hasGroups(node: PatternNode): boolean {
  if (node.kind === "group") return true;
  if (node.kind === "repeat") return hasGroups(node.part);
  return (node.kind === "sequence" || node.kind === "choice") && node.parts.some(hasGroups);
}

function needsUnicode(node: PatternNode): boolean {
  if (node.kind === "set") return node.properties !== undefined || highest(node.set) >= FIRST_SURROGATE;
  if (node.kind === "sequence" || node.kind === "choice") return node.parts.some(needsUnicode);
  return node.kind !== "assertion" && needsUnicode(node.part);
}

const FIRST_SURROGATE = 0xd800;

function write(node: PatternNode): string {
  switch (node.kind) {
    case "set":
      return writeSet(node.set, node.properties, node.negated);
    case "assertion":
      return ASSERTIONS[node.assertion];
    case "sequence":
      return node.parts.map((part) => (part.kind === "choice" ? `(?:${write(part)})` : write(part))).join("");
    case "choice":
      return node.parts.map(write).join("|");
    case "group":
      return `(${write(node.part)})`;
    case "repeat": {
      const { part, min, max, greedy } = node;
      const atom = part.kind === "set" || part.kind === "group" ? write(part) : `(?:${write(part)})`;
      return `${atom}{${min},${max === Number.POSITIVE_INFINITY ? "" : max}}${greedy ? "" : "?"}`;
    }
  }
}

const ASSERTIONS: Readonly<Record<Assertion, string>> = {
  start: "^",
  end: "$",
  "line start": "(?<![^\\n])",
  "line end": "(?![^\\n])",
  "word boundary": "\\b",
  "no word boundary": "\\B",
};

function writeSet(set: CharSet, properties: readonly string[] = [], negated = false): string {
  if (properties.length > 0) return `[${negated ? "^" : ""}${writeRanges(set)}${properties.join("")}]`;
  if (set.length === 2 && set[0] === set[1]) return writeCharacter(set[0]!);
  return highest(set) === MAX_CODE_POINT ? `[^${writeRanges(complement(set))}]` : `[${writeRanges(set)}]`;
}

function writeRanges(set: CharSet): string {
  let text = "";
  for (let i = 0; i < set.length; i += 2) {
    text += writeCharacter(set[i]!);
    if (set[i + 1]! > set[i]!) text += `-${writeCharacter(set[i + 1]!)}`;
  }
  return text;
}

function writeCharacter(point: number): string {
  const character = String.fromCodePoint(point);
  if (/[0-9A-Za-z]/.test(character)) return character;
  return point > 0xffff ? `\\u{${point.toString(16)}}` : `\\u${point.toString(16).padStart(4, "0")}`;
}
