import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ObjectNameSettings, ObjectNames } from "../../../src/exporters/archive/object-names.js";
import { runs } from "../../support/runs.js";

const SETTINGS: ObjectNameSettings = {
  basePrefix: "",
  prefix: "",
  partitionFormat: "year=%Y/month=%m/day=%d/hour=%H/minute=%M",
  timezone: "UTC",
  filePrefix: "",
  extension: "json",
  uniqueKey: "hash",
};
const RECORDS = { signal: "logs", key: "entry-1", at: Date.UTC(2026, 11, 31, 23, 30) } as const;
const folderOf = (settings: Partial<ObjectNameSettings>) =>
  new ObjectNames({ ...SETTINGS, ...settings }).nameOf(RECORDS).replace(/\/[^/]*$/, "");

describe("ObjectNames", () => {
  it("puts objects into folders by the time at which their records came", () => {
    expect(folderOf({})).toBe("year=2026/month=12/day=31/hour=23/minute=30");
    expect(folderOf({ timezone: "Asia/Tokyo", partitionFormat: "v2/%F/%H%M" })).toBe("v2/2027-01-01/0830");
    expect(folderOf({ partitionFormat: "%y-%j %b %B %a %A %I%p 100%%" })).toBe(
      "26-365 Dec December Thu Thursday 11PM 100%",
    );
    expect(folderOf({ basePrefix: "/env//prod/", prefix: "./logs" })).toBe(
      "/env/prod/logs/year=2026/month=12/day=31/hour=23/minute=30",
    );
  });

  it("gives each key a name of its own, and the same key the same name", () => {
    const names = new ObjectNames(SETTINGS);
    const all = Array.from({ length: 1000 }, (_, i) => names.nameOf({ ...RECORDS, key: `entry-${i % 500}` }));
    expect(new Set(all).size).toBe(500);
  });

  it("stays in its folder, whatever prefix comes with the records", () => {
    const names = new ObjectNames({ ...SETTINGS, basePrefix: "base" });
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[./a\n]{0,30}$/)), (prefix) => {
        const name = names.nameOf({ ...RECORDS, prefix });
        expect(name.startsWith("base/")).toBe(true);
        expect(name.split("/").some((part) => part === "" || part === "." || part === "..")).toBe(false);
        expect(/[\n\r\0]/.test(name)).toBe(false);
      }),
      runs(200),
    );
  });
});
