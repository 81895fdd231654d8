import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync } from "vite";
import { describe, expect, it } from "vitest";

const project = join(import.meta.dirname, "..");
const FOLDERS = ["src", "console"];
const SOURCE_FILE = /(?<!\.generated)\.tsx?$/;

/** A node of the syntax tree, as far as these rules look at it. */
interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly argument?: SyntaxNode;
  readonly expression?: SyntaxNode;
  readonly computed?: boolean;
}

function visit(value: unknown, visitor: (node: SyntaxNode) => void): void {
  if (typeof value !== "object" || value === null) return;
  if ("type" in value) visitor(value as SyntaxNode);
  for (const key in value) visit(value[key as keyof typeof value], visitor);
}

interface Rule {
  readonly mayBeIn: RegExp;
  readonly isFound: (node: SyntaxNode) => boolean;
}

/** `...[a, b]` and `...{ a, b }`, which are only longer than `a, b`. */
const SPREAD_LITERAL: Rule = {
  mayBeIn: /\.\.\.\s*[[{]/,
  isFound: ({ type, argument }) =>
    type === "SpreadElement" && (argument?.type === "ArrayExpression" || argument?.type === "ObjectExpression"),
};

/** `x!`, where `x` is what `of` says. An element, `x[i]!`, is none of these: an index that is in range has no type. */
function assertion(of: (asserted: SyntaxNode) => boolean): Rule {
  return {
    mayBeIn: /[\w)\]]!/,
    isFound: ({ type, expression }) => type === "TSNonNullExpression" && expression !== undefined && of(expression),
  };
}

/**
 * What `!` is still written after, and how often. A new one is a type, a default or a condition instead; each one less
 * lowers its number here.
 */
const ASSERTIONS = {
  /** `map.get(key)!` for a key that is in the map, `list.at(-1)!` and `list.shift()!` for a list that is not empty. */
  calls: { rule: assertion(({ type }) => type === "CallExpression"), max: 268 },
  /** `name!`, where another variable says that it is there. */
  variables: { rule: assertion(({ type }) => type === "Identifier"), max: 177 },
  /** `object.name!`, in the state of the object that has it. */
  members: { rule: assertion(({ type, computed }) => type === "MemberExpression" && computed !== true), max: 251 },
  /** `(one ?? other)!`, of which one is there. */
  expressions: { rule: assertion(({ type }) => type === "ParenthesizedExpression"), max: 7 },
} as const;

/** The places in a file that a rule finds, as `file:line`. Only a text that may have one is parsed. */
function placesOf({ mayBeIn, isFound }: Rule, file: string, text: string): string[] {
  if (!mayBeIn.test(text)) return [];
  const places: string[] = [];
  visit(parseSync(file, text).program, (node) => {
    if (isFound(node)) places.push(`${file}:${text.slice(0, node.start).split("\n").length}`);
  });
  return places;
}

function filesOfProject(): string[] {
  return FOLDERS.flatMap((folder) =>
    readdirSync(join(project, folder), { recursive: true, encoding: "utf8" })
      .filter((path) => SOURCE_FILE.test(path))
      .map((path) => join(folder, path)),
  );
}

function placesInProject(rule: Rule, folder = ""): string[] {
  const files = filesOfProject().filter((file) => file.startsWith(folder));
  return files.flatMap((file) => placesOf(rule, file, readFileSync(join(project, file), "utf8")));
}

describe("a non-null assertion", () => {
  it.each(Object.entries(ASSERTIONS))("is not written more often after %s", (_, { rule, max }) => {
    const places = placesInProject(rule, "src/");
    expect(places.length, `one of these is new:\n${places.join("\n")}`).toBeLessThanOrEqual(max);
  });

  it("is counted by what it stands after", () => {
    const text = "a!; b.c!; d[0]!; e()!; f.g()![1]!; h![i!]!; (j ?? k)!;";
    const counts = Object.values(ASSERTIONS).map(({ rule }) => placesOf(rule, "an.ts", text).length);
    expect(counts).toEqual([2, 3, 1, 1]);
  });
});

describe("a spread", () => {
  it("is not of a literal, which would only steer where the formatter breaks lines", () => {
    expect(placesInProject(SPREAD_LITERAL)).toEqual([]);
  });

  it("of a literal is found in arrays, objects and calls", () => {
    const text = "f([...[1, 2]], {\n...{ a: 1 } }, ...[3], ...others, { ...(is ? { b: 2 } : {}) });";
    expect(placesOf(SPREAD_LITERAL, "an.ts", text)).toEqual(["an.ts:1", "an.ts:2", "an.ts:2"]);
  });
});
