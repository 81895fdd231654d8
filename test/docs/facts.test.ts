import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isGroup } from "../../src/agent/cli/command.js";
import { COMMANDS } from "../../src/agent/cli/commands.js";
import { EXIT } from "../../src/agent/cli/terminal.js";
import { ERROR_CODES } from "../../src/runtime/contract/errors/error-codes.js";
import { Refusal } from "../../src/runtime/contract/errors/refusal.js";
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
function wrong(pattern: RegExp, isTrue: (match: RegExpMatchArray) => boolean): string[] {
  return pages.flatMap((page) =>
    page.text
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
  const VARIABLES = new Set(["SLUICE_API", "SLUICE_ADMIN_TOKEN", "SLUICE_LISTEN", "SLUICE_BACKEND"]);

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

  /** Of Prometheus, Docker, Node.js, systemd and of our benchmarks. */
  const FOREIGN = new Set(
    "enable-feature build-arg time trace-gc global expose-gc scenario queue each snapshots warmup start".split(" "),
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
});
