import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { pages, project } from "./pages.js";

const textOf = (files: readonly string[]) => files.map((file) => readFileSync(join(project, file), "utf8")).join("\n");

const sources = readdirSync(join(project, "src"), { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts"))
  .map((file) => join("src", file));

/** `a_{b,c}_d` also as a_b_d and a_c_d. */
const spelledOut = (text: string) =>
  text.replace(/(\w+)\{([\w,]+)\}(\w*)/g, (whole, before: string, words: string, behind: string) =>
    [whole, ...words.split(",").map((word) => `${before}${word}${behind}`)].join(" "),
  );

it("names every metric", () => {
  const documented = spelledOut(pages.map(({ text }) => text).join("\n"));
  const names = [...textOf(sources).matchAll(/"((?:sluice|otelcol)_[a-z_]+)"/g)].map((match) => match[1]!);
  expect(names.length).toBeGreaterThan(20);
  expect(names.filter((name) => !documented.includes(name))).toEqual([]);
});
