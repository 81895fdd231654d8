import { expect, it } from "vitest";
import { keysOf } from "../../src/runtime/config/schema/zod-schema.js";
import { builtins } from "../support/builtins.js";
import type { Page } from "./pages.js";

/** The page of a component names every key of its config. */
export function namesKeys(type: string): (page: Page) => void {
  return ({ text }) => {
    it("names every key", () => {
      const keys = [...keysOf(builtins.find((factory) => factory.type === type)!.schema).keys()];
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
