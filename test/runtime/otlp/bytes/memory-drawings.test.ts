import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import * as unseenWalk from "../../../../src/processors/pii/fields/unseen-walk.js";
import * as checkWalk from "../../../../src/runtime/otlp/bytes/check/check-walk.js";

const DRAWN: [file: string, exported: Readonly<Record<string, unknown>>][] = [
  ["runtime/otlp/bytes/check/check-walk.ts", checkWalk],
  ["processors/pii/fields/unseen-walk.ts", unseenWalk],
];

describe.each(DRAWN)("the drawing of the memory in %s", (file, exported) => {
  const source = readFileSync(new URL(`../../../../src/${file}`, import.meta.url), "utf8");
  const offsetOf = (constant: string) =>
    Number(exported[constant] ?? new RegExp(`^const ${constant} = (\\d+);$`, "m").exec(source)?.[1]);

  it("has each area at the offset that the code uses", () => {
    const drawn = [...source.matchAll(/^ \* +(\d+) +([A-Z_]+_AT)\b/gm)];
    expect(drawn.length).toBeGreaterThan(2);
    expect(drawn.map(([, offset, area]) => [area, Number(offset)])).toEqual(
      drawn.map(([, , area]) => [area, offsetOf(area!)]),
    );
  });

  it("has every area", () => {
    const areas = [...source.matchAll(/^(?:export )?const ([A-Z_]+_AT) = /gm)].map(([, area]) => area!);
    const drawn = [...source.matchAll(/^ \* +(?:\d+ +)?([A-Z_]+_AT) {2,}/gm)].map(([, area]) => area!);
    expect(drawn.sort()).toEqual(areas.sort());
  });
});
