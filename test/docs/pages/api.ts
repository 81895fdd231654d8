import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type Page, project } from "../pages.js";

/** A page that is longer is not read. */
const MAX_LINES = 1550;

export function api({ text }: Page): void {
  it("says what the types say (npm run build && node scripts/api-reference.js makes it)", () => {
    const args = [join(project, "scripts/api-reference.js"), "--print"];
    expect(execFileSync(process.execPath, args, { encoding: "utf8", maxBuffer: 1e8 }) === text).toBe(true);
  });

  it(`has at most ${MAX_LINES} lines`, () => {
    expect(text.split("\n").length - 1).toBeLessThanOrEqual(MAX_LINES);
  });

  it("has every public name, as a heading, as an item or in a block", () => {
    const names = readFileSync(join(project, "test/public-names.txt"), "utf8").matchAll(/^sluice\S* \w+ (\w+)$/gm);
    const missing = [...names]
      .map(([, name]) => name!)
      .filter((name) => name !== "default")
      .filter((name) => !new RegExp(`^(#### |- \`|(type|interface|class|function|const) )${name}\\b`, "m").test(text));
    expect(missing).toEqual([]);
  });

  it("has every door of the package, and shows nothing private", () => {
    const { exports } = JSON.parse(readFileSync(join(project, "package.json"), "utf8")) as { exports: object };
    const doors = Object.keys(exports).filter((path) => path !== "./package.json");
    for (const door of doors) expect(text).toContain(`\n## ${join("sluice", door)}\n`);
    expect(text).not.toMatch(/^ {2}(private|protected) |@internal|@example|\bImpl\b/m);
  });
}
