import * as plugin from "../../../src/plugin.js";

export interface Judgement {
  readonly detector: string;
  readonly recall: number;
  readonly falsePositives: number;
  readonly missed: readonly string[];
  readonly wrong: readonly string[];
}

interface Planted {
  readonly line: string;
  readonly value: string;
}

const folder = new URL("../../../bench/pii-corpus/", import.meta.url).href;
const { judge: judged } = (await import(`${folder}judge.js`)) as {
  judge(using: typeof plugin, size: object): Judgement[];
};
const planted = (await import(`${folder}planted.js`)) as {
  plantedLines(kind: string, count: number, seed?: number): Planted[];
};
const ordinary = (await import(`${folder}ordinary.js`)) as { ordinaryLines(count: number, seed?: number): string[] };

/** The benchmark's judgement of the detectors, on a corpus of this size. */
export const judge = (size: { ordinary: number; planted: number; seed?: number }) => judged(plugin, size);
export const { plantedLines } = planted;
export const { ordinaryLines } = ordinary;
