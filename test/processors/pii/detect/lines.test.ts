import { describe, expect, it } from "vitest";
import { batchFromJson, readRecords } from "../../../../src/plugin.js";
import { piiSchema } from "../../../../src/processors/pii/config.js";
import { PiiTreatment } from "../../../../src/processors/pii/pii-treatment.js";
import { judgeFolder, linesThrough } from "./corpus.js";
import floors from "./line-floors.json" with { type: "json" };

/**
 * The least recall of each kind, in percent, and the most ordinary lines that are changed, by profile and folder. Figures
 * of recall may only rise, those of changed lines may only fall: `node bench/pii-corpus/judge-lines.js FOLDER --floors`
 * prints new ones, with `--strict` those of that profile.
 */
type Floors = Readonly<Record<string, { readonly recall: Record<string, number>; readonly changed: number }>>;
const FLOORS: Readonly<Record<"defaults" | "strict", Floors>> = floors;
const CASES = [
  ...Object.entries(FLOORS.defaults).map(([folder, floor]) => ["the defaults", folder, floor, {}] as const),
  ...Object.entries(FLOORS.strict).map(
    ([folder, floor]) => ["the settings of profile: strict", folder, floor, { profile: "strict" }] as const,
  ),
];

describe.each(CASES)("%s, on the lines of bench/pii-corpus/%s,", (_, folder, floor, config) => {
  const treat = linesThrough({ batchFromJson, readRecords }, new PiiTreatment(piiSchema.parse(config)));
  const { kinds, ordinary, changed, planted, found } = judgeFolder(folder, treat, "profile" in config);

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
