import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ObjectNames } from "../../../src/exporters/archive/object-names.js";
import {
  formatPartition,
  HOUR_PARTITIONS,
  MINUTE_PARTITIONS,
  partitionFormatProblem,
  partitionRanges,
} from "../../../src/runtime/archive/partitions.js";

const at = (text: string) => Date.parse(`${text}Z`);
const prefixes = (format: string, since: string, until: string) =>
  [...partitionRanges(format, at(since), at(until))].map(({ prefix }) => prefix);

describe("the partitions of a time range", () => {
  it("are listed by whole hours and days where they fit, and by minutes at both ends", () => {
    expect(prefixes(MINUTE_PARTITIONS, "2026-01-30T22:58:30", "2026-02-01T01:01:00")).toEqual([
      "year=2026/month=01/day=30/hour=22/minute=58/",
      "year=2026/month=01/day=30/hour=22/minute=59/",
      "year=2026/month=01/day=30/hour=23/",
      "year=2026/month=01/day=31/",
      "year=2026/month=02/day=01/hour=00/",
      "year=2026/month=02/day=01/hour=01/minute=00/",
    ]);
  });

  it("are one prefix for a whole year", () => {
    expect(prefixes(HOUR_PARTITIONS, "2025-01-01T00:00:00", "2026-01-01T00:00:00")).toEqual(["year=2025/"]);
  });

  it("are those of the shortest unit if the path does not go from long to short", () => {
    expect(prefixes("%d.%m.%Y", "2026-01-30T10:00:00", "2026-02-01T00:00:00")).toEqual(["30.01.2026/", "31.01.2026/"]);
  });

  it("cover every minute of the range once, and nothing before the first or after the last partition", () => {
    const time = fc.integer({ min: at("2020-01-01T00:00:00"), max: at("2029-01-01T00:00:00") });
    const format = fc.constantFrom(MINUTE_PARTITIONS, HOUR_PARTITIONS, "%Y/%m/%d", "%Y%m%d/%H", "dt=%Y-%m-%d");
    fc.assert(
      fc.property(
        time,
        fc.integer({ min: 1, max: 400 * 86_400_000 }),
        format,
        fc.double({ min: 0, max: 1, noNaN: true }),
        (since, span, path, where) => {
          const until = since + span;
          const ranges = [...partitionRanges(path, since, until)];
          expect(ranges[0]!.from).toBeLessThanOrEqual(since);
          expect(ranges.at(-1)!.to).toBeGreaterThanOrEqual(until);
          expect(ranges.at(-1)!.from).toBeLessThan(until);
          for (const [i, range] of ranges.entries()) if (i > 0) expect(range.from).toBe(ranges[i - 1]!.to);
          const key = `${formatPartition(path, since + Math.floor(where * (span - 1)))}/logs_1.binpb`;
          expect(ranges.filter(({ prefix }) => key.startsWith(prefix))).toHaveLength(1);
        },
      ),
    );
  });

  it.each([
    [
      "America/New_York",
      "2026-01-31T03:00:00",
      "2026-01-31T06:00:00",
      ["2026-01-30/22", "2026-01-30/23", "2026-01-31/00"],
    ],
    ["Asia/Kolkata", "2026-01-30T23:00:00", "2026-01-31T00:00:00", ["2026-01-31/04", "2026-01-31/05"]],
    // Clocks were set back at 06:00 UTC, from 02:00 to 01:00: the partition of 01:00 has the objects of two hours.
    ["America/New_York", "2026-11-01T05:00:00", "2026-11-01T07:00:00", ["2026-11-01/01"]],
    ["America/New_York", "2026-11-01T05:50:00", "2026-11-01T08:00:00", ["2026-11-01/01", "2026-11-01/02"]],
    // Clocks were set forward at 07:00 UTC, from 02:00 to 03:00. Nothing is in the partition of 02:00.
    [
      "America/New_York",
      "2026-03-08T06:00:00",
      "2026-03-08T08:00:00",
      ["2026-03-08/01", "2026-03-08/02", "2026-03-08/03"],
    ],
  ])("are those of the clocks in %s from %s to %s", (zone, since, until, expected) => {
    const ranges = [...partitionRanges("%Y-%m-%d/%H", at(since), at(until), "", zone)];
    expect(ranges.map(({ prefix }) => prefix)).toEqual(expected.map((each) => `${each}/`));
  });

  it("leave out the minutes between two parts of an hour that clocks repeat", () => {
    const [since, until] = [at("2026-11-01T05:58:00"), at("2026-11-01T06:02:00")];
    const ranges = [...partitionRanges("%H%M/%Y%m%d", since, until, "", "America/New_York")];
    expect(ranges.map(({ prefix }) => prefix.slice(0, 4))).toEqual(["0158", "0159", "0100", "0101"]);
  });

  it("have every object of the range once, in every time zone", () => {
    const zones = fc.constantFrom(
      "",
      "UTC",
      "America/New_York",
      "Australia/Lord_Howe",
      "Africa/Casablanca",
      "Asia/Kolkata",
    );
    const time = fc.integer({ min: at("2020-01-01T00:00:00"), max: at("2029-01-01T00:00:00") });
    const format = fc.constantFrom(MINUTE_PARTITIONS, HOUR_PARTITIONS, "%Y/%m/%d");
    const share = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(
        zones,
        time,
        fc.integer({ min: 1, max: 400 * 86_400_000 }),
        format,
        share,
        (zone, since, span, path, where) => {
          const settings = {
            basePrefix: "",
            prefix: "",
            filePrefix: "",
            extension: "json",
            uniqueKey: "hash",
          } as const;
          const names = new ObjectNames({ ...settings, partitionFormat: path, timezone: zone });
          const name = names.nameOf({ signal: "logs", key: "a", at: since + Math.floor(where * (span - 1)) });
          const ranges = [...partitionRanges(path, since, since + span, "", zone)];
          expect(ranges.filter(({ prefix }) => name.startsWith(prefix))).toHaveLength(1);
        },
      ),
    );
  });

  it("cannot be found if the format leaves out a unit or has an unknown one", () => {
    expect(partitionFormatProblem(MINUTE_PARTITIONS)).toBeUndefined();
    expect(partitionFormatProblem("%Y/%H")).toContain("every unit between");
    expect(partitionFormatProblem("hour=%H")).toContain("must contain %Y");
    expect(partitionFormatProblem("%Y/%j")).toBe("%j is not supported: use %Y, %m, %d, %H, %M");
  });
});
