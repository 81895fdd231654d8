import { readFileSync } from "node:fs";
import { batchFromJson, readRecords } from "../../../../src/plugin.js";
import { DETECTORS } from "../../../../src/processors/pii/detect/text/detectors.js";
import { PiiTreatment } from "../../../../src/processors/pii/pii-treatment.js";

const pii = { batchFromJson, DETECTORS, PiiTreatment, readRecords };

export interface Judgement {
  readonly detector: string;
  readonly recall: number;
  readonly falsePositives: number;
  readonly missed: readonly string[];
  readonly wrong: readonly string[];
}

/** The share of planted values of one kind that was removed. */
interface KindRow {
  readonly kind: string;
  readonly isPrefixed: boolean;
  readonly planted: number;
  readonly gone: number;
  readonly left: readonly { readonly line: string; readonly after: string }[];
}

interface WildJudgement {
  readonly kinds: readonly KindRow[];
  readonly ordinary: number;
  readonly changed: readonly { readonly line: string; readonly after: string }[];
}

/** The results for planted names and addresses, and for other lines. */
interface PeopleJudgement {
  readonly judged: readonly { readonly kind: string; readonly line: string; readonly isGone: boolean }[];
  readonly ordinary: number;
  readonly changed: readonly { readonly line: string; readonly after: string }[];
}

interface Planted {
  readonly line: string;
  readonly value: string;
}

const folder = new URL("../../../../bench/pii-corpus/", import.meta.url).href;
const { judge: judged } = (await import(`${folder}judge.js`)) as {
  judge(using: typeof pii, size: object): Judgement[];
};
const planted = (await import(`${folder}planted.js`)) as {
  plantedLines(kind: string, count: number, seed?: number): Planted[];
};
const wild = (await import(`${folder}wild/judge.js`)) as {
  judgeWild(treat: (lines: string[]) => string[], size: object): WildJudgement;
};
const people = (await import(`${folder}people.js`)) as {
  judgePeople(treat: (lines: string[]) => string[], size: object): PeopleJudgement;
};
/** Recall and false positives on a folder of lines. */
interface LineJudgement {
  readonly kinds: readonly {
    readonly kind: string;
    readonly planted: number;
    readonly found: number;
    readonly missed: readonly string[];
  }[];
  readonly planted: number;
  readonly found: number;
  readonly ordinary: number;
  readonly changed: readonly { readonly line: string; readonly after: string }[];
}

type TreatLines = (lines: readonly object[]) => string[];
const lines = (await import(`${folder}lines.js`)) as {
  judgeFolder(folder: string, treat: TreatLines, isStrict: boolean): LineJudgement;
  linesThrough(telemetry: object, treatment: { treat(batch: never): unknown }): TreatLines;
};
const ordinary = (await import(`${folder}ordinary.js`)) as { ordinaryLines(count: number, seed?: number): string[] };

/** Evaluates the detectors like the benchmark, on a corpus of this size. */
export const judge = (size: { ordinary: number; planted: number; seed?: number }) => judged(pii, size);
export const { plantedLines } = planted;
export const { judgeWild } = wild;
export const { judgePeople } = people;
export const { ordinaryLines } = ordinary;
/** Judges a folder of lines in bench/pii-corpus/. */
export const judgeFolder = (name: string, treat: TreatLines, isStrict: boolean) =>
  lines.judgeFolder(new URL(name, folder).pathname, treat, isStrict);
export const { linesThrough } = lines;
/** The texts of all lines of a folder. */
export const lineTexts = (name: string): string[] =>
  ["planted.jsonl", "ordinary.jsonl"].flatMap((file) =>
    readFileSync(new URL(`${name}/${file}`, folder), "utf8")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as { text?: string; value?: unknown })
      .map(({ text, value }) => text ?? String(value)),
  );
