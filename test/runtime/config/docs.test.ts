import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { loadText } from "./load-text.js";

const page = readFileSync("docs/configuration.md", "utf8");
const examples = [...page.matchAll(/^```yaml\n(.*?)^```$/gms)].map((match) => match[1]!);

describe("docs/configuration.md", () => {
  it("has examples", () => {
    expect(examples.length).toBeGreaterThan(2);
  });

  it.each(examples)("shows a config that loads (%#)", (text) => {
    expect(loadText(text, { env: { BACKEND_TOKEN: "x" } }).problems).toEqual([]);
  });
});
