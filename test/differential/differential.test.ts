import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readTables } from "./case-table.js";
import { differenceOf, type Recording, readDifferences, readRecordings, writeRecordings } from "./recordings.js";
import { type Output, runTable } from "./run-table.js";
import { collector, sluice } from "./subjects.js";

/** A Collector binary. With it the recordings are checked too; with RECORD=1 they are written. */
const binary = process.env["OTELCOL"];
const isRecording = process.env["RECORD"] === "1";
const differences = readDifferences();
const tables = readTables();

describe.each(tables)("$name, given the same configs and inputs", (table) => {
  const recordings = readRecordings(table.name);
  const recorded = Object.fromEntries(Object.entries(recordings).map(([name, each]) => [name, each.collector]));
  const expectedOf = (name: string) =>
    differenceOf(differences, table.name, name) === undefined ? recorded[name] : recordings[name]?.sluice;

  it.runIf(binary !== undefined && isRecording)("is recorded", async () => {
    const theirs = await runTable(table, collector(binary!));
    const ours = await runTable(table, sluice, theirs);
    const both = table.cases.map(({ name }): [string, Recording] => {
      const isDifferent = differenceOf(differences, table.name, name) !== undefined;
      return [name, { collector: theirs[name]!, ...(isDifferent ? { sluice: ours[name]! } : {}) }];
    });
    writeRecordings(table, Object.fromEntries(both));
    report(table.name, theirs, ours);
  });

  it.runIf(binary !== undefined && !isRecording)("the Collector's output is as recorded", async () => {
    expect(await runTable(table, collector(binary!), recorded)).toEqual(recorded);
  });

  it.skipIf(isRecording)("gives what the Collector gives, but for documented differences", async () => {
    const expected = Object.fromEntries(table.cases.map(({ name }) => [name, expectedOf(name)!]));
    expect(await runTable(table, sluice, expected)).toEqual(expected);
  });

  it.skipIf(isRecording)("has a recording for each case and no other", () => {
    expect(Object.keys(recordings).sort()).toEqual(table.cases.map(({ name }) => name).sort());
  });
});

describe.skipIf(isRecording)("differences.yaml", () => {
  it("is what docs/coming-from-the-collector.md shows", () => {
    const project = join(import.meta.dirname, "../..");
    const page = execFileSync(process.execPath, ["test/differential/write-page.js", "--print"], {
      cwd: project,
      encoding: "utf8",
    });
    expect(page).toBe(readFileSync(join(project, "docs/coming-from-the-collector.md"), "utf8"));
  });

  it("has only rows whose cases exist and differ", () => {
    const idle = differences.flatMap((row) =>
      Object.entries(row.cases).flatMap(([table, names]) => {
        const recordings = Object.entries(readRecordings(table));
        return names.filter((name) => {
          const shown = recordings.filter(([each]) =>
            differenceOf([{ ...row, cases: { [table]: [name] } }], table, each),
          );
          return shown.length === 0 || shown.some(([, { collector, sluice }]) => same(collector, sluice));
        });
      }),
    );
    expect(idle).toEqual([]);
  });
});

function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Prints what differs, and whether it is documented. */
function report(table: string, theirs: Readonly<Record<string, Output>>, ours: Readonly<Record<string, Output>>): void {
  const names = Object.keys(theirs).filter((name) => !same(theirs[name], ours[name]));
  const undocumented = names.filter((name) => differenceOf(differences, table, name) === undefined);
  console.log(
    `${table}: ${Object.keys(theirs).length} cases, ${names.length} different, ${undocumented.length} of them undocumented`,
  );
  for (const name of undocumented) {
    const [one, other] = [theirs[name]!, ours[name]!];
    console.log(`- ${name}\n    Collector ${printed(one, other)}\n    Sluice    ${printed(other, one)}`);
  }
}

/** The records of an output that another does not have. */
function printed(output: Output, other: Output): string {
  if (output === "refused" || other === "refused") return JSON.stringify(output);
  const texts = new Set(other.map((record) => JSON.stringify(record)));
  return output
    .map((record) => JSON.stringify(record))
    .filter((text) => !texts.has(text))
    .join("\n              ");
}
