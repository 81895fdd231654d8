import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ottlReference } from "../../../src/runtime/ottl/compile/reference.js";

it("the reference of functions and paths says what the code does (node scripts/ottl-reference.js makes it)", () => {
  const file = join(import.meta.dirname, "../../../docs/ottl-functions.md");
  expect(readFileSync(file, "utf8")).toBe(ottlReference());
});
