import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isGroup } from "../../src/agent/cli/command.js";
import { COMMANDS } from "../../src/agent/cli/commands.js";
import { EXIT } from "../../src/agent/cli/terminal.js";
import { ERROR_CODES } from "../../src/runtime/contract/errors/error-codes.js";
import { Refusal } from "../../src/runtime/contract/errors/refusal.js";
import { FAILURE_REASONS } from "../../src/runtime/contract/operations/failure-reasons.js";
import {
  completeSettings,
  uncheckedExporterSettingsSchema,
} from "../../src/runtime/contract/schema/exporter-settings.js";
import { answerOfRefusal } from "../../src/runtime/net/otlp/refusals.js";
import { pages as allPages, project } from "./pages.js";

/**
 * Pages that tell the same fact must tell what the code does. Each test looks for one kind of claim on all pages, wherever it
 * is made, and compares it with the table that the code uses. Decisions tell of their time.
 */
const pages = allPages.filter(({ name }) => !/^docs\/decisions\/\d/.test(name));

const sources = readdirSync(join(project, "src"), { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts"))
  .map((file) => readFileSync(join(project, "src", file), "utf8"))
  .join("\n");

/** Places of a pattern on all pages, as `page:line: match`, for which `isTrue` does not hold. */
function wrong(
  pattern: RegExp,
  isTrue: (match: RegExpMatchArray) => boolean,
  textOf = (text: string) => text,
): string[] {
  return pages.flatMap((page) =>
    textOf(page.text)
      .split("\n")
      .flatMap((line, i) =>
        [...line.matchAll(pattern)].filter((match) => !isTrue(match)).map(([text]) => `${page.name}:${i + 1}: ${text}`),
      ),
  );
}

describe("every page that names", () => {
  it("a metric names one that there is, counters with the _total that Prometheus sees", () => {
    const names = new Set(sources.match(/\bsluice_[a-z_]+/g));
    const counters = new Set(
      [...sources.matchAll(/\b(?:counter|count)\(\s*"(sluice_[a-z_]+)"/g)].map(([, name]) => name!),
    );
    expect(counters.size).toBeGreaterThan(20);
    const isName = (name: string) => {
      if (TABLES.includes(name)) return true;
      if (counters.has(name)) return name.endsWith("_total");
      return names.has(name) || names.has(name.replace(SUFFIX, ""));
    };
    expect(wrong(/`(sluice_[a-z_]+[a-z])(?=[`{])/g, ([, name]) => isName(name!))).toEqual([]);
  });

  /** Of a queue in PostgreSQL, by the default of its key `table`. */
  const TABLES = ["sluice_queue_entries", "sluice_queue_notes"];
  /** Endings that Prometheus appends to the names of instruments. */
  const SUFFIX = /(_seconds|_bytes|_milliseconds)?_(total|bucket|sum|count|ratio)$|_(seconds|bytes|milliseconds)$/;

  /** The environment's: of the command line, of packages, of tests. */
  const VARIABLES = new Set(["SLUICE_API", "SLUICE_ADMIN_TOKEN", "SLUICE_LISTEN", "SLUICE_BACKEND", "SLUICE_TEST_SQS"]);

  it("an error code names one that there is", () => {
    // In the middle of a command they are variables of the environment.
    expect(wrong(/`(SLUICE_[A-Z_]*[A-Z])`/g, ([, name]) => name! in ERROR_CODES || VARIABLES.has(name!))).toEqual([]);
  });

  it("an option of a command names one that there is", () => {
    const commands = COMMANDS.flatMap((each) => (isGroup(each) ? each.commands : [each]));
    const options = new Set(commands.flatMap((command) => Object.keys(command.options)));
    for (const name of ["help", "version"]) options.add(name);
    expect(wrong(/`--([a-z][a-z-]+)(?=[ `=])/g, ([, name]) => options.has(name!) || FOREIGN.has(name!))).toEqual([]);
  });

  /** Of Prometheus, Docker, Node.js, systemd, and of our benchmarks and long tests. */
  const FOREIGN = new Set(
    (
      "enable-feature build-arg time trace-gc global expose-gc scenario queue each snapshots warmup start " +
      "figures minutes parts reloads"
    ).split(" "),
  );

  it("an exit code names one that there is", () => {
    const codes = new Set<number>(Object.values(EXIT));
    expect(wrong(/\bexit(?:s with| with| code) (\d+)\b/gi, ([, code]) => codes.has(Number(code)))).toEqual([]);
  });

  it("the answer to a client when a queue or the intake is full, or memory is short, names the same status", () => {
    const statuses = (["SLUICE_QUEUE_FULL", "SLUICE_OVERLOADED", "SLUICE_MEMORY"] as const).map(
      (code) => answerOfRefusal(new Refusal("throttled", "full", { code: ERROR_CODES[code] })).httpStatus,
    );
    expect(new Set(statuses)).toEqual(new Set([429]));
    const claim =
      /(?:queue|intake) (?:is|are|was) full[^.|]*?\b(429|503)\b|\b(429|503)\b[^.|]*?(?:queue|intake) (?:is|are|was) full/g;
    expect(wrong(claim, ([, one, other]) => (one ?? other) === "429")).toEqual([]);
  });

  it("a reason of dead letters names one that there is", () => {
    const reasons: readonly string[] = FAILURE_REASONS;
    const claim = /(?:reason `|dlq [a-z]+[^`]* --reason |[?&]reason=)([a-z_]+)/g;
    expect(wrong(claim, ([, reason]) => reasons.includes(reason!))).toEqual([]);
  });

  it("how long and how much dead letters are kept by default names what the settings have", () => {
    const { retention, max_bytes } = completeSettings(uncheckedExporterSettingsSchema.parse({})).dead_letter;
    const claim = /\bdefault\b[^.|]*?(\d+) days(?:[^.|]*?(\d+) GiB)?/g;
    const isTrue = ([, days, gib]: RegExpMatchArray) =>
      Number(days) * 86_400_000 === retention && (gib === undefined || Number(gib) * 2 ** 30 === max_bytes);
    expect(wrong(claim, isTrue)).toEqual([]);
  });

  it("an address of this machine outside of examples names a default port", () => {
    const ports = new Set(
      [...sources.matchAll(/(?:(?:127\.0\.0\.1|localhost|0\.0\.0\.0):|PORT\w* = )(\d+)/g)].map(([, port]) => port),
    );
    for (const port of FOREIGN_PORTS) ports.add(port);
    const isTrue = ([, port]: RegExpMatchArray) => ports.has(port);
    expect(wrong(/(?:127\.0\.0\.1|localhost|0\.0\.0\.0):(\d+)/g, isTrue, proseOf)).toEqual([]);
  });

  /** Of the examples that the sentences are about: a scrape endpoint, Prometheus's own exporters, Grafana. */
  const FOREIGN_PORTS = ["8889", "9291", "3000"];

  it("a variable of the environment names one that something reads", () => {
    const read = `${sources}\n${readFileSync(join(project, "CONTRIBUTING.md"), "utf8")}\n${packaged}`;
    const claim =
      /(?:variables?|environment)(?: of the environment)? `([A-Z][A-Z0-9_]+)`|`([A-Z][A-Z0-9_]+)` in the environment/g;
    const isRead = (name: string) => read.includes(name) || CLIENT_VARIABLES.includes(name);
    expect(wrong(claim, ([, one, other]) => isRead((one ?? other)!))).toEqual([]);
  });

  it("the default of a key in a table names one that the schema of a component has for that key", () => {
    const known = new Map<string, Set<string>>();
    for (const page of pages.filter(({ name }) => name.startsWith("docs/components/")))
      for (const { cells } of tableRows(page.text, ["key", "type", "default"])) {
        const key = lastName(cells[0]!);
        known.set(key, (known.get(key) ?? new Set()).add(comparable(cells[2]!)));
      }
    expect(known.size).toBeGreaterThan(500);
    // Handlers have settings in code.
    const stated = pages
      .filter(({ name }) => name !== "docs/extend/handlers.md")
      .flatMap(({ name, text }) =>
        tableRows(text, ["key", "default"]).map((row) => ({ ...row, place: `${name}:${row.line}` })),
      );
    expect(stated.length).toBeGreaterThan(200);
    const stale = stated.filter(({ cells: [key, value] }) => {
      const defaults = known.get(lastName(key!));
      if (defaults === undefined || !isPlain(value!)) return false;
      return !defaults.has(comparable(value!)) && !UNWRITTEN.includes(`${lastName(key!)} ${comparable(value!)}`);
    });
    expect(stale.map(({ place, cells }) => `${place}: ${cells[0]} ${cells[1]}`)).toEqual([]);
  });
});

/** Defaults that the code chooses, because they depend on other keys. */
const UNWRITTEN = [`interval ${3_600_000}`, "insecure false"];

/** Variables that programs read which send data to the agent. */
const CLIENT_VARIABLES = ["AWS_XRAY_DAEMON_ADDRESS"];

/** The files that users start the agent with. */
const packaged = readdirSync(join(project, "packaging"), { recursive: true, encoding: "utf8" })
  .filter((file) => /\.(ya?ml|service|env|md)$|Dockerfile/.test(file))
  .map((file) => readFileSync(join(project, "packaging", file), "utf8"))
  .join("\n");

/** A page without its fenced blocks; lines keep their numbers. */
function proseOf(text: string): string {
  return text.replace(/^ *```[\s\S]*?^ *```/gm, (block) => block.replace(/[^\n]/g, ""));
}

/** The cells of these columns, for the rows of all tables that have them. */
function tableRows(text: string, columns: readonly string[]): { readonly line: number; readonly cells: string[] }[] {
  const lines = proseOf(text).split("\n");
  const cellsOf = (line: string) =>
    line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim());
  let places: readonly number[] = [];
  return lines.flatMap((line, i) => {
    const cells = cellsOf(line);
    if (!lines[i - 1]?.startsWith("|")) {
      const head = cells.map((cell) => cell.replace(/ of `.*/, ""));
      places = columns.map((name) => head.indexOf(name));
    } else if (line.startsWith("|") && !places.includes(-1) && !/^-+$/.test(cells[0] ?? ""))
      return [{ line: i + 1, cells: places.map((place) => cells[place] ?? "") }];
    return [];
  });
}

function lastName(cell: string): string {
  return (/`([^`]+)`/.exec(cell)?.[1] ?? cell).split(".").at(-1)!;
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A cell without its marks; times in milliseconds. */
function comparable(cell: string): string {
  const text = cell.replace(/[`"\s\\]/g, "").toLowerCase();
  const [, number, unit] = /^([\d.]+)(ms|s|m|h|d)$/.exec(text) ?? [];
  return unit === undefined ? text : String(Number(number) * UNITS[unit]!);
}

/** Whether a cell has a number, a time, a size, true or false, and not an explanation. */
function isPlain(cell: string): boolean {
  return /^`?"?(?:true|false|[\d.,]+ ?(?:[kmg]i?b|ms|s|m|h|d)?)"?`?$/i.test(cell);
}
