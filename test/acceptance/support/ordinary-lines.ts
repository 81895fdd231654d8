import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const CORPUS = join(import.meta.dirname, "../../../bench/pii-corpus");

/** Either a text, or an attribute. */
export interface OrdinaryLine {
  readonly text?: string;
  readonly key?: string;
  readonly value?: string;
}

/** Log lines and attributes without personal data, by the collections that they come from. */
export function ordinaryLines(): [string, OrdinaryLine[]][] {
  const files = readdirSync(CORPUS).map((name) => [name, join(CORPUS, name, "ordinary.jsonl")] as const);
  const read = (file: string) => readFileSync(file, "utf8").trim().split("\n");
  const existing = files.filter(([, file]) => existsSync(file));
  return existing.map(([name, file]) => [name, read(file).map((line) => JSON.parse(line) as OrdinaryLine)]);
}
