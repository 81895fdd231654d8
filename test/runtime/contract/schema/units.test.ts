import { describe, expect, it } from "vitest";
import {
  byteSizeText,
  durationText,
  parseByteSize,
  parseDuration,
} from "../../../../src/runtime/contract/schema/units.js";

describe("durationText", () => {
  it.each([
    [0, "0s"],
    [0.00001, "10ns"],
    [0.5, "500us"],
    [200, "200ms"],
    [1500, "1.5s"],
    [60_000, "1m"],
    [95_000, "1m35s"],
    [5_400_000, "1.5h"],
    [1234, "1234ms"],
  ])("writes %d ms as %s, which reads back", (ms, text) => {
    expect(durationText(ms)).toBe(text);
    expect(parseDuration(text)).toBeCloseTo(ms, 6);
  });
});

describe("parseDuration", () => {
  it.each([
    ["30d", 30 * 24 * 3_600_000],
    ["2w", 14 * 24 * 3_600_000],
    ["1w2d3h", (9 * 24 + 3) * 3_600_000],
    ["1.5d", 36 * 3_600_000],
    ["1h30m", 5_400_000],
    ["10µs", 0.01],
  ])("reads %s", (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  it.each(["d", "3y", "1D", "1 d", "-1d", ""])("does not take %j for a duration", (text) => {
    expect(parseDuration(text)).toBeUndefined();
  });
});

describe("byteSizeText", () => {
  it.each([
    [64 * 1024 * 1024, "64MiB"],
    [1024, "1KiB"],
    [1000, "1000"],
    [0, "0"],
  ])("writes %d as %s, which reads back", (bytes, text) => {
    expect(byteSizeText(bytes)).toBe(text);
    expect(parseByteSize(text)).toBe(bytes);
  });
});
