import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isSafe } from "redos-detector";
import { parseAst } from "rolldown/parseAst";
import { expect, it } from "vitest";
import { buildAutomaton } from "../src/runtime/text/patterns/automaton.js";
import { maxBacktrackingLength } from "../src/runtime/text/patterns/backtracking.js";
import { parsePattern } from "../src/runtime/text/patterns/syntax.js";

/**
 * JavaScript's engine backtracks, so that a text can keep it busy for hours. Every regular expression in the sources is
 * proven to be linear, by the proof for users' patterns or by redos-detector. If neither can prove it, a comment above
 * the statement says how many characters it gets (`At most 64 characters.`) or why it is linear (`Linear: ...`).
 */
const REASON = /\/\/ (?:At most [\d,]+ characters\b|Linear: \S)/;
/** redos-detector gives up after this many ways to backtrack, and steps. It must not depend on the machine's speed. */
const LIMITS = { maxScore: 200, maxSteps: 2_000, timeout: Number.POSITIVE_INFINITY };

const SOURCES = join(import.meta.dirname, "../src");

interface Found {
  readonly place: string;
  readonly source: string;
  readonly flags: string;
  readonly hasReason: boolean;
}

interface Node {
  readonly type?: string;
  readonly start?: number;
  readonly regex?: { readonly pattern: string; readonly flags: string };
}

/** What looks like a regular expression with a repetition. Only files with such text are parsed. */
const MAY_REPEAT = /(?:^|[(,=:[!&|?{};>]|\breturn)[ \t]*\/(?![/*])[^\n]*[*+}][^\n]*\//m;

function expressionsIn(file: string): Found[] {
  const text = readFileSync(join(SOURCES, file), "utf8");
  if (!MAY_REPEAT.test(text)) return [];
  const lineOf = (offset: number) => text.slice(0, offset).split("\n").length;
  const lines = text.split("\n");
  const found: Found[] = [];
  const visit = (node: unknown, statement: number): void => {
    if (typeof node !== "object" || node === null) return;
    const { type = "", start = 0, regex } = node as Node;
    if (regex !== undefined) {
      const hasReason = lines
        .slice(Math.max(0, lineOf(statement) - 4), lineOf(start))
        .some((line) => REASON.test(line));
      found.push({ place: `${file}:${lineOf(start)}`, source: regex.pattern, flags: regex.flags, hasReason });
      return;
    }
    const inner = type !== "BlockStatement" && /Statement$|Declaration$|^Property/.test(type) ? start : statement;
    for (const child of Object.values(node)) visit(child, inner);
  };
  visit(parseAst(text, { lang: "ts" }), 0);
  return found;
}

/** Without a repetition that has no end, the work for each start is limited. */
function repeats(source: string): boolean {
  return /[*+]|\{\d+,\}/.test(source.replace(/\\./g, "").replace(/\[[^\]]*\]/g, "x"));
}

function isProven({ source, flags }: Found): boolean {
  const anchored = flags.includes("y") ? `^(?:${source})` : source; // a sticky one tries a single start
  return hasOwnProof(anchored, flags) || isSafe(new RegExp(anchored, flags.replace("y", "")), LIMITS).safe;
}

function hasOwnProof(source: string, flags: string): boolean {
  const ours = flags.replace(/[^ims]/g, "");
  try {
    const syntax = parsePattern((ours === "" ? "" : `(?${ours})`) + source.replaceAll("\\/", "/"));
    const automaton = syntax && buildAutomaton(syntax.root);
    return automaton !== undefined && maxBacktrackingLength(automaton) === Number.POSITIVE_INFINITY;
  } catch {
    return false; // it uses what users' patterns cannot
  }
}

const files = readdirSync(SOURCES, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
const all = files.flatMap(expressionsIn).filter(({ source }) => repeats(source));

it("finds the regular expressions in the sources", () => {
  expect(all.length).toBeGreaterThan(400);
});

it("proves that every regular expression takes time linear in the text, or says why it may not", () => {
  const unproven = all.filter((one) => !one.hasReason && !isProven(one));
  expect(unproven.map(({ place, source, flags }) => `${place}: /${source}/${flags}`)).toEqual([]);
});

it.each([
  "([a-z][a-z0-9+.-]*://[^/?#\\s\"']*)([^\\s\"']*)",
  "\\s+$",
  "Mobile;.*Firefox/([\\d.]+)",
  "^(?:a+)+$",
  "^(yyyy|yy)*$",
])("does not accept %s", (source) => expect(isProven({ place: "", source, flags: "", hasReason: false })).toBe(false));
