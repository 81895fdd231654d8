import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

interface LockedPackage {
  readonly version?: string;
  readonly engines?: { readonly node?: string };
  readonly deprecated?: string;
  readonly dev?: boolean;
  readonly hasInstallScript?: boolean;
}
const project = join(import.meta.dirname, "..");
const lock = JSON.parse(readFileSync(join(project, "package-lock.json"), "utf8")) as {
  readonly packages: Readonly<Record<string, LockedPackage>>;
};
const installed = Object.entries(lock.packages).filter(([path]) => path !== "");

/** The oldest Node.js that Sluice runs on. */
const OLDEST = [20, 19, 0] as const;

/** Whether the oldest Node.js is within a range such as `^20.19.0 || >=22`. */
function takesOldest(range: string): boolean {
  return range.split("||").some((part) => {
    const bounds = [...part.matchAll(/(>=|>|<=|<|\^|~|=)?\s*v?(\d+)(?:\.(\d+))?(?:\.(\d+))?/g)];
    return bounds.every(([, relation = "=", major, minor = "0", patch = "0"]) => {
      const order = compare(OLDEST, [Number(major), Number(minor), Number(patch)]);
      if (relation === ">" || relation === ">=") return order >= 0;
      if (relation === "<" || relation === "<=") return order < 0;
      return OLDEST[0] === Number(major) && order >= 0;
    });
  });
}

function compare(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((number, i) => number !== b[i]);
  return at === -1 ? 0 : a[at]! - b[at]!;
}

describe("npm install", () => {
  it("runs no script of what comes with Sluice but that of LevelDB, which looks for its ready-made part", () => {
    const scripted = installed.filter(([, { dev, hasInstallScript }]) => hasInstallScript === true && dev !== true);
    expect(scripted.map(([path]) => path)).toEqual(["node_modules/classic-level"]);
  });

  it("warns of no package that wants a newer Node.js than Sluice does", () => {
    expect(installed.length).toBeGreaterThan(50);
    const newer = installed.filter(([, { engines }]) => engines?.node !== undefined && !takesOldest(engines.node));
    expect(newer.map(([path, { engines }]) => `${path} ${engines?.node}`)).toEqual([]);
  });

  it("warns of no package that is deprecated", () => {
    expect(installed.filter(([, { deprecated }]) => deprecated !== undefined).map(([path]) => path)).toEqual([]);
  });

  it.each([
    ["^20.19.0 || >=22.12.0", true],
    [">=18", true],
    [">= 20.0.0 < 21", true],
    ["*", true],
    [">=22", false],
    ["^20.20.0", false],
    ["^18 || ^22", false],
  ])("reads %s", (range, takes) => {
    expect(takesOldest(range)).toBe(takes);
  });
});
