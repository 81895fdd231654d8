import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { FAILURE_KINDS } from "../../src/runtime/contract/blame.js";
import { FAILURE_RULES } from "../../src/runtime/contract/operations/failure-reasons.js";

const BLAMES = { backend: "the backend's", entry: "the entry's", timeout: "see below" } as const;

function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [head, head.map(() => "---"), ...rows].map(line).join("\n");
}

const page = (name: string) => readFileSync(new URL(`../../docs/${name}`, import.meta.url), "utf8");

describe("the docs have the tables that the code follows", () => {
  it("of whose failure a call is", () => {
    const rows = FAILURE_KINDS.map(({ failure, blame }) => [failure, BLAMES[blame]]);
    expect(page("reliability.md")).toContain(markdownTable(["what happens", "whose failure it is"], rows));
  });

  it("of the rules that make dead letters", () => {
    const rows = Object.entries(FAILURE_RULES).map(([name, { reason, rule }]) => [
      `\`${name}\``,
      `\`${reason}\``,
      rule,
    ]);
    expect(page("dead-letters.md")).toContain(markdownTable(["rule", "reason", "what it says"], rows));
  });
});
