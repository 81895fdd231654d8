import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { MutantCopy } from "./mutant-copy.js";

const folder = import.meta.dirname;
const patches = readdirSync(folder).filter((name) => name.endsWith(".patch"));
const copy = new MutantCopy();

afterAll(() => copy.remove());

/** A patch takes a mend out again. Its first line says which test notices that: `# catches: FILE [-t "title"]`. */
describe("the tests", () => {
  it.each(patches)("notice %s within a minute", { timeout: 300_000 }, async (name) => {
    const { failedTests, errors, testSeconds, output } = await copy.runWith(join(folder, name));
    expect(errors).toEqual([]);
    expect(failedTests, output).toBeGreaterThan(0);
    expect(testSeconds, output).toBeLessThan(60);
  });
});
