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

describe("a spread", () => {
  it("is not of a literal, which would only steer where the formatter breaks lines", () => {
    const places = filesOfProject().flatMap((file) =>
      placesOf(SPREAD_LITERAL, file, readFileSync(join(project, file), "utf8")),
    );
    expect(places).toEqual([]);
  });

  it("of a literal is found in arrays, objects and calls", () => {
    const text = "f([...[1, 2]], {\n...{ a: 1 } }, ...[3], ...others, { ...(is ? { b: 2 } : {}) });";
    expect(placesOf(SPREAD_LITERAL, "an.ts", text)).toEqual(["an.ts:1", "an.ts:2", "an.ts:2"]);
  });
});
