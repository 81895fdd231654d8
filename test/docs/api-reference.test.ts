import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

/** A page that is longer is not read. */
const MAX_LINES = 1500;

const project = join(import.meta.dirname, "../..");
const page = readFileSync(join(project, "docs/api.md"), "utf8");
const { exports } = JSON.parse(readFileSync(join(project, "package.json"), "utf8")) as { exports: object };

describe("docs/api.md", () => {
  it("says what the types say (npm run build && node scripts/api-reference.js makes it)", () => {
    const args = [join(project, "scripts/api-reference.js"), "--print"];
    expect(execFileSync(process.execPath, args, { encoding: "utf8", maxBuffer: 1e8 }) === page).toBe(true);
  });

  it(`has at most ${MAX_LINES} lines`, () => {
    expect(page.split("\n").length - 1).toBeLessThanOrEqual(MAX_LINES);
  });

  it("has every public name, as a heading, as an item or in a block", () => {
    const names = readFileSync(join(project, "test/public-names.txt"), "utf8").matchAll(/^sluice\S* \w+ (\w+)$/gm);
    const missing = [...names]
      .map(([, name]) => name!)
      .filter((name) => name !== "default")
      .filter((name) => !new RegExp(`^(#### |- \`|(type|interface|class|function|const) )${name}\\b`, "m").test(page));
    expect(missing).toEqual([]);
  });

  it("has every door of the package, and shows nothing private", () => {
    const doors = Object.keys(exports).filter((path) => path !== "./package.json");
    for (const door of doors) expect(page).toContain(`\n## ${join("sluice", door)}\n`);
    expect(page).not.toMatch(/^ {2}(private|protected) |@internal|@example|\bImpl\b/m);
  });
});
