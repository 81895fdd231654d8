import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { type CaseTable, folderOf } from "./case-table.js";
import type { Output } from "./run-table.js";

/**
 * The output of both programs for a case. `sluice` is set only if it differs; then differences.yaml has a row for it.
 */
export interface Recording {
  readonly collector: Output;
  readonly sluice?: Output;
}

/** An intended difference, with its reason. docs/coming-from-the-collector.md shows it. */
export interface Difference {
  readonly component: string;
  readonly collector: string;
  readonly sluice: string;
  readonly why: string;
  /** Names of cases by table, to the letter or up to a `*` at the end. */
  readonly cases: Readonly<Record<string, readonly string[]>>;
}

/** The recordings of a table by the names of its cases, one case a line in the file. */
export function readRecordings(table: string): Record<string, Recording> {
  const file = fileOf(table);
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Record<string, Recording>) : {};
}

export function writeRecordings(table: CaseTable, recordings: Readonly<Record<string, Recording>>): void {
  const lines = table.cases.map(({ name }) => `  ${JSON.stringify(name)}: ${JSON.stringify(recordings[name])}`);
  writeFileSync(fileOf(table.name), `{\n${lines.join(",\n")}\n}\n`);
}

export function readDifferences(): Difference[] {
  return parse(readFileSync(join(import.meta.dirname, "differences.yaml"), "utf8")) as Difference[];
}

/** The documented difference that a case shows. */
export function differenceOf(differences: readonly Difference[], table: string, name: string): Difference | undefined {
  return differences.find(({ cases }) =>
    cases[table]?.some((each) => (each.endsWith("*") ? name.startsWith(each.slice(0, -1)) : each === name)),
  );
}

function fileOf(table: string): string {
  return join(import.meta.dirname, "recorded", folderOf(table), `${table}.json`);
}
