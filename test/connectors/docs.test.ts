import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { keysOf } from "../../src/runtime/config/schema/zod-schema.js";
import { builtins } from "../support/builtins.js";

const page = (name: string) => readFileSync(`docs/${name}.md`, "utf8");

describe.each(["routing", "failover", "count", "groupbyattrs"])("docs/%s.md", (name) => {
  it("names every key", () => {
    const { schema } = builtins.find(({ type }) => type === name)!;
    const names = [...keysOf(schema).keys()];
    expect(names.length).toBeGreaterThan(0);
    expect(names.filter((key) => !page(name).includes(`\`${key}`))).toEqual([]);
  });
});

describe("docs/coming-from-the-collector.md", () => {
  it("names every component there is", () => {
    const missing = builtins.filter(({ type }) => !page("coming-from-the-collector").includes(`\`${type}\``));
    expect(missing.map(({ kind, type }) => `${kind} ${type}`)).toEqual([]);
  });
});
