import fc from "fast-check";
import { expect, it } from "vitest";
import { stringify } from "yaml";
import { filter } from "../../../../src/processors/filter/component.js";
import { loadConfig } from "../../../../src/runtime/config/load.js";
import { Registry } from "../../../../src/runtime/config/resolve/registry.js";
import { runs } from "../../../support/runs.js";

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

/** Where each error is, whatever way YAML has of writing the text. */
it.each([
  ["a string in double quotes", '"IsMatch(body, \\"(\\")"', '\\"(\\")"', "not a valid pattern"],
  ["a string in single quotes", `'body == 1 and IsMatch(body, "(")'`, `"(")'`, "not a valid pattern"],
  ["an escaped character", '"body == \\u0031 and\\tbodi == 1"', 'bodi == 1"', "no such path"],
  ["an escaped line end", '"body == 1 \\\n          and bodi == 1"', 'bodi == 1"', "no such path"],
  ["a string that does not end", `'body == "bodi'`, `"bodi'`, "does not end"],
  ["a plain text over lines", "body == 1 and\n          bodi == 1", "bodi == 1", "no such path"],
  [
    "a literal block",
    '|\n          IsMatch(body, "a") or\n            IsMatch(body, "(")',
    '"(")',
    "not a valid pattern",
  ],
  [
    "a literal block with blank lines",
    "|-\n          body == 1\n\n          and bodi == 1",
    "bodi == 1",
    "no such path",
  ],
  ["a folded block", '>\n          IsMatch(body, "a") or\n          IsMatch(body, "(")', '"(")', "not a valid pattern"],
  [
    "a folded block with blank lines",
    ">\n          body == 1\n\n\n          and bodi == 1",
    "bodi == 1",
    "no such path",
  ],
  ["a line that begins behind an escaped end", '"body == 1 and \\\n          bodi == 1"', 'bodi == 1"', "no such path"],
  ["the end of the text", '"body == "', ' "', "expected a value"],
])("points at the place in %s", (_, condition, pointed, message) => {
  const problem = problemOf(condition);
  expect(problem.message).toContain(message);
  expect(problem.pointed).toBe(pointed);
});

it("finds every place in every way of writing a text", () => {
  const style = fc.constantFrom("PLAIN", "QUOTE_DOUBLE", "QUOTE_SINGLE", "BLOCK_LITERAL", "BLOCK_FOLDED");
  const words = fc.array(fc.constantFrom("body", '"it\'s"', '"\\\\d é😀"', "==", "and", "\n", "  ", '"#: "'), {
    maxLength: 12,
  });
  fc.assert(
    fc.property(words, style, (before, type) => {
      const written = `body ${before.join(" ")} § tail`;
      const yaml = stringify([written], { defaultStringType: type as "PLAIN", lineWidth: 30 });
      const indented = yaml
        .split("\n")
        .map((line) => `        ${line}`)
        .join("\n");
      const text = `processors:\n  filter:\n    logs:\n      log_record:\n${indented}\n`;
      const { problems } = loadConfig({ sources: [{ text, name: "c.yaml" }], registry: new Registry([filter]) });
      const found = problems.find(({ message }) => message.startsWith('unexpected "§"'));
      if (found === undefined) return; // something before it was wrong already
      const { line, column } = found.place!;
      expect(text.split("\n")[line - 1]!.slice(column - 1)[0]).toBe("§");
    }),
    runs(150),
  );
});
