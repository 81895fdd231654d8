import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { parse } from "yaml";
import type { Feed } from "./feeds.js";

/**
 * Cases that Sluice and the Collector are compared on. A table in `cases/` is about one component; a case is a config of
 * that component and an input. Each case becomes a pipeline of its own, so that one start of an agent runs a whole table.
 *
 * In configs and inputs `CASE` stands for the number of the case, `PORT` for a free port, and `SINK` for the URL of a
 * server that keeps what it is sent. `FOLDER` is a folder with the table's files, `TARGET` a server with a page for each
 * case: see feeds.ts.
 */
export interface CaseTable {
  /** The file's name without its ending. */
  readonly name: string;
  /** Such as `processors/attributes`. */
  readonly component: string;
  readonly signal: Signal;
  /** The signal that leaves the component, if it is another one. */
  readonly to: Signal;
  readonly env: Readonly<Record<string, string>>;
  readonly feed: Feed;
  /** Texts by their paths in `FOLDER`. */
  readonly files: Readonly<Record<string, string>>;
  /** Addresses at which the same agent receives OTLP over gRPC: where the component under test sends to. */
  readonly backends: readonly string[];
  /** Whether output may arrive after the answer to the input: the runner then waits for it. */
  readonly isLate: boolean;
  /** Whether records that are repeated without end, such as those of cumulative metrics, count once. */
  readonly isDistinct: boolean;
  /** Fields and attributes that differ between two runs of a program, such as `startTimeUnixNano`. They are left out. */
  readonly without: readonly string[];
  /** Names of records that differ between two runs, such as `scrape_duration_seconds`. */
  readonly ignored: readonly string[];
  readonly cases: readonly Case[];
}

export interface Case {
  readonly name: string;
  /** YAML that is used as it is written. */
  readonly config: string;
  /** One input, or several that are sent one after the other. */
  readonly inputs: readonly unknown[];
}

export type Signal = "logs" | "traces" | "metrics";

interface TableFile {
  readonly component: string;
  readonly signal: Signal;
  readonly to?: Signal;
  readonly env?: Readonly<Record<string, string>>;
  readonly feed?: Feed;
  readonly files?: Readonly<Record<string, string>>;
  readonly backends?: readonly string[];
  readonly late?: boolean;
  readonly distinct?: boolean;
  readonly without?: readonly string[];
  readonly ignored?: readonly string[];
  readonly input?: unknown;
  readonly cases: readonly CaseFile[];
}

/** With `inputs` a row is as many cases, whose names have the input's name at the end. */
interface CaseFile {
  readonly name: string;
  readonly config?: unknown;
  /** In place of `config`, and for each of these names a case. */
  readonly configs?: Readonly<Record<string, unknown>>;
  readonly input?: unknown;
  readonly inputs?: Readonly<Record<string, unknown>>;
}

const folder = join(import.meta.dirname, "cases");

/** All tables, by name. Throws when two cases of a table have the same name. */
export function readTables(): CaseTable[] {
  return files().map((file) =>
    readTable(basename(file, ".yaml"), parse(readFileSync(join(folder, file), "utf8"), { merge: true }) as TableFile),
  );
}

/** The folder in `cases/` that has a table; its recording is in the same folder of `recorded/`. */
export function folderOf(table: string): string {
  return dirname(files().find((file) => basename(file, ".yaml") === table)!);
}

/** The tables in `cases/`, by name. */
function files(): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".yaml"))
    .sort((one, other) => (basename(one) < basename(other) ? -1 : 1));
}

function readTable(name: string, file: TableFile): CaseTable {
  const cases = file.cases.flatMap((row) => casesOf(row, file.input));
  const names = new Set<string>();
  for (const each of cases) {
    if (names.has(each.name)) throw new Error(`${name}: two cases are called ${each.name}`);
    names.add(each.name);
  }
  return {
    name,
    component: file.component,
    signal: file.signal,
    to: file.to ?? file.signal,
    env: file.env ?? {},
    feed: file.feed ?? "otlp",
    files: file.files ?? {},
    backends: file.backends ?? [],
    isLate: file.late ?? (file.feed ?? "otlp") !== "otlp",
    isDistinct: file.distinct ?? false,
    without: file.without ?? [],
    ignored: file.ignored ?? [],
    cases,
  };
}

function casesOf(row: CaseFile, input: unknown): Case[] {
  const configs = row.configs ?? { "": row.config ?? null };
  const inputs = row.inputs ?? { "": row.input ?? input };
  return Object.entries(configs).flatMap(([configName, config]) =>
    Object.entries(inputs).map(([inputName, each]) => ({
      name: [row.name, configName, inputName].filter((part) => part !== "").join(": "),
      config: typeof config === "string" ? config : JSON.stringify(config),
      inputs: Array.isArray(each) ? each : [each],
    })),
  );
}
