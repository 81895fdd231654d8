import { describe, expect, it } from "vitest";
import { showProblems } from "../../../src/agent/cli/show-problems.js";
import type { Problem } from "../../../src/runtime/config/text/problem.js";

/** The excerpt of a line with a problem at its last word, in a terminal of this width. */
function excerpt(line: string, columns: number): [string, string] {
  let text = "";
  const out = { write: (more: string) => void (text += more), isTerminal: true, colour: false, columns };
  const place = { file: "a.yaml", line: 7, column: line.lastIndexOf(" ") + 2 };
  const problem: Problem = { severity: "error", code: "wrong_value", message: "wrong", place, path: "a" };
  showProblems([problem], () => line, out);
  const lines = text.split("\n");
  return [lines[2]!, lines[3]!];
}

describe("the excerpt of a line with a problem", () => {
  it.each([
    ["a short line", "a: bad", 80],
    ["a line that ends after the terminal", `${"x".repeat(40)} bad${"y".repeat(200)}`, 80],
    ["a line whose place is beyond the terminal", `${"x".repeat(300)} bad${"y".repeat(200)}`, 80],
    ["a place at the end of a long line", `${"x".repeat(300)} bad`, 60],
  ])("has the caret below the place: %s", (_, line, columns) => {
    const [shown, caret] = excerpt(line, columns);
    expect(shown.length).toBeLessThanOrEqual(columns);
    expect(shown.slice(caret.indexOf("^"), caret.indexOf("^") + 3)).toBe("bad");
  });
});
