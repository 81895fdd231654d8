import { expect, it } from "vitest";
import { keysOf } from "../../src/runtime/config/schema/zod-schema.js";
import { builtins } from "../support/builtins.js";
import type { Page } from "./pages.js";

/** The page of components names every key of their configs. `exporter aws_s3` is one kind of a type that has several. */
export function namesKeys(...types: string[]): (page: Page) => void {
  return ({ text }) => {
    it.each(types)("names every key of %s", (name) => {
      const [type, kind] = name.split(" ").reverse();
      const found = builtins.filter((factory) => factory.type === type && (kind ?? factory.kind) === factory.kind);
      const schemas = found.map(({ schema }) => schema);
      const keys = schemas.flatMap((schema) => [...keysOf(schema).keys()]);
      expect(keys.length).toBeGreaterThan(0);
      expect(keys.filter((key) => !text.includes(`\`${key}`))).toEqual([]);
    });
  };
}

export function namesAllComponents({ text }: Page): void {
  it("names every component there is", () => {
    const missing = builtins.filter(({ type }) => !text.includes(`\`${type}\``));
    expect(missing.map(({ kind, type }) => `${kind} ${type}`)).toEqual([]);
  });
}
