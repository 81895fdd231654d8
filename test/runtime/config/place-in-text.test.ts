import { expect, it } from "vitest";
import { filter } from "../../../src/processors/filter/index.js";
import { loadConfig } from "../../../src/runtime/config/load.js";
import { Registry } from "../../../src/runtime/registry.js";

function problemOf(condition: string) {
  const text = `processors:\n  filter:\n    logs:\n      log_record:\n        - ${condition}\n`;
  const { problems } = loadConfig({ sources: [{ text, name: "c.yaml" }], registry: new Registry([filter]) });
  const problem = problems.find(({ path }) => path.includes("log_record"))!;
  const { line, column } = problem.place!;
  return { ...problem, pointed: text.split("\n")[line - 1]!.slice(column - 1) };
}

it.each([
  ["plain text", 'true and bodi == "x"', 'bodi == "x"'],
  ["single quotes", `'attributes["it''s"] == 1 and bodi == 1'`, "bodi == 1'"],
  ["double quotes", '"attributes[\\"bodi\\"] == 1 and bodi == 1"', 'bodi == 1"'],
  ["a block over several lines", '|\n          body == "bodi" and\n          bodi == 1', "bodi == 1"],
  ["a folded block", '>-\n          body == "a" and\n          bodi == 1', "bodi == 1"],
])("points at the part of a condition that is wrong in %s", (_, condition, pointed) => {
  const problem = problemOf(condition);
  expect(problem.pointed).toBe(pointed);
  expect(problem.suggestion).toBe('did you mean "body"?');
  expect(problem.message).toBe("no such path in the context log: bodi");
});
