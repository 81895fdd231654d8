import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { packageFolder, packageVersion } from "../../../src/runtime/system/package-info.js";

const project = join(import.meta.dirname, "../../..");
const elsewhere = mkdtempSync(join(tmpdir(), "sluice-version-"));
afterAll(() => rmSync(elsewhere, { recursive: true, force: true }));

describe("the package this code is part of", () => {
  it("is found from wherever in it the code is", () => {
    expect(packageFolder()).toBe(project);
    const { version } = JSON.parse(readFileSync(join(project, "package.json"), "utf8"));
    expect(packageVersion(join(project, "dist/bundle/index.js"))).toBe(version);
  });

  it("is not taken to be another one, nor looked for for ever, when the code was bundled into something else", () => {
    mkdirSync(join(elsewhere, "dist"));
    writeFileSync(join(elsewhere, "package.json"), '{"name":"app","version":"9.9.9"}');
    for (const file of [join(elsewhere, "dist/app.js"), "/app.js"]) {
      expect(packageFolder(file)).toBeUndefined();
      expect(packageVersion(file)).toBe("unknown");
    }
  });
});
