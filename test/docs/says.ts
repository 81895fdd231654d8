import { expect, it } from "vitest";
import { keysOf } from "../../src/runtime/config/schema/zod-schema.js";
import { builtins } from "../support/builtins.js";
import type { Page } from "./pages.js";

/** The page of a component, or of several, names every key of their configs. */
export function namesKeys(...types: string[]): (page: Page) => void {
  return ({ text }) => {
    it.each(types)("names every key of %s", (type) => {
      const schemas = builtins.filter((factory) => factory.type === type).map(({ schema }) => schema);
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
