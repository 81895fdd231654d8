import { describe, expect, it } from "vitest";
import { batchFromJson, readRecords } from "../../../../src/plugin.js";
import { piiSchema } from "../../../../src/processors/pii/config.js";
import { PiiTreatment } from "../../../../src/processors/pii/pii-treatment.js";
import { judgeFolder, linesThrough } from "./corpus.js";
import floors from "./line-floors.json" with { type: "json" };

/**
 * The least recall of each kind, in percent, and the most ordinary lines that are changed. Figures of recall may only
 * rise, those of changed lines may only fall: `node bench/pii-corpus/judge-lines.js FOLDER --floors` prints new ones.
 */
const FLOORS: Readonly<Record<string, { readonly recall: Record<string, number>; readonly changed: number }>> = floors;

describe.each(Object.entries(FLOORS))("on the lines of bench/pii-corpus/%s, the defaults", (folder, floor) => {
  const treat = linesThrough({ batchFromJson, readRecords }, new PiiTreatment(piiSchema.parse({ profile: "strict" })));
  const { kinds, ordinary, changed, planted, found } = judgeFolder(folder, treat, true);

  it.each(Object.entries(floor.recall))("find at least their share of %s: %d %", (name, least) => {
    const row = kinds.find(({ kind }) => kind === name)!;
    const recall = Math.floor((100 * row.found) / row.planted);
    expect({ missed: row.missed.slice(0, 5), isEnough: recall >= least }).toEqual({
      missed: expect.anything(),
      isEnough: true,
    });
  });

  it("have a floor for each kind", () => {
    expect(kinds.map(({ kind }) => kind).sort()).toEqual(Object.keys(floor.recall).sort());
  });

  it("find nine values out of ten", () => {
    expect(found / planted).toBeGreaterThan(0.9);
  });

  it("change no more ordinary lines than before, and less than one in a hundred", () => {
    expect({ changed: changed.slice(0, 5), count: changed.length <= floor.changed }).toEqual({
      changed: expect.anything(),
      count: true,
    });
    expect(changed.length / ordinary).toBeLessThan(0.01);
  });
});
