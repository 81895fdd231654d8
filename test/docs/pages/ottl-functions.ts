import { expect, it } from "vitest";
import { ottlReference } from "../../../src/runtime/ottl/compile/reference.js";
import type { Page } from "../pages.js";

/** The page is made from the code, with its examples, which the tests of the functions run. */
export function ottlFunctions(page: Page): void {
  it("says what the code does (node scripts/ottl-reference.js makes it)", () => {
    expect(page.text).toBe(ottlReference());
  });
}
