import { expect, it } from "vitest";
import { formatTime } from "../../../../src/runtime/text/time/time-format.js";
import { parseGoLayout, parseLayout } from "../../../../src/runtime/text/time/time-layout.js";
import { UTC } from "../../../../src/runtime/text/time/time-zones.js";

const time = { nanos: BigInt(Date.UTC(2026, 1, 3, 4, 5, 6)) * 1_000_000n, zone: UTC };

it("reads an underscore in front of an hour, month or year as Go does", () => {
  const written = (layout: string) => formatTime(parseGoLayout(layout), time);
  expect(written("logs_15_04_05.json")).toBe("logs_04_05_06.json");
  expect(written("logs_2006_01_02")).toBe("logs_2026_02_03");
  expect(written("_1")).toBe("_2");
  expect(written("_2")).toBe(" 3");
  expect(written("__2")).toBe(" 34");
});

it("writes a month that is padded with a space for the directive %o", () => {
  expect(formatTime(parseLayout("%o/%e"), time)).toBe(" 2/ 3");
});
