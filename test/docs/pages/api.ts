import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type Page, project } from "../pages.js";

export function api({ text }: Page): void {
  it("says what the types say (npm run build && node scripts/api-reference.js makes it)", () => {
    const args = [join(project, "scripts/api-reference.js"), "--print"];
    expect(execFileSync(process.execPath, args, { encoding: "utf8", maxBuffer: 1e8 }) === text).toBe(true);
  });

  it("has a sentence on every name: write it above the declaration", () => {
    const entries = text.split(/^#### /m).slice(1);
    expect(entries.length).toBeGreaterThan(150);
    expect(entries.filter((entry) => /^\S+\n\n```/.test(entry)).map((entry) => entry.split("\n")[0])).toEqual([]);
  });

  it("has every door of the package, and shows nothing private", () => {
    const { exports } = JSON.parse(readFileSync(join(project, "package.json"), "utf8")) as { exports: object };
    const doors = Object.keys(exports).filter((path) => path !== "./package.json");
    for (const door of doors) expect(text).toContain(`\n## ${join("sluice", door)}\n`);
    expect(text).not.toMatch(/^ {2}private |@internal|\bImpl\b/m);
  });
}
