import { describe, expect, it } from "vitest";
import { countOf, failedSendsText } from "../../../console/parts/format.js";

describe("a count", () => {
  it("has the noun in the right number", () => {
    expect([0, 1, 2, 1200].map((count) => countOf(count, "entry", "entries"))).toEqual([
      "0 entries",
      "1 entry",
      "2 entries",
      "1,200 entries",
    ]);
    expect(countOf(1, "record")).toBe("1 record");
    expect(countOf(3, "record")).toBe("3 records");
  });
});

describe("failed sends", () => {
  it("are a share of what was tried, and nothing is said about a share of none", () => {
    expect(failedSendsText(0, 0, "rising")).toBe("nothing was sent in the last minute");
    expect(failedSendsText(1, 1, "steady")).toBe("100 % of 1 send in the last minute");
    expect(failedSendsText(0.025, 40, "steady")).toBe("2.5 % of 40 sends in the last minute");
  });

  it("rise or fall only if there are some", () => {
    expect(failedSendsText(0, 12, "rising")).toBe("0 % of 12 sends in the last minute");
    expect(failedSendsText(0.5, 12, "falling")).toBe("50 % of 12 sends in the last minute, falling");
  });
});
