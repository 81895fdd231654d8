import { writeFile } from "node:fs/promises";
import { arch, cpus, platform } from "node:os";
import { openBench } from "./lib/bench.js";
import { HELP, parseOptions, UsageError } from "./lib/options.js";
import { SubjectError } from "./lib/processes/run-subject.js";
import { formatTable } from "./lib/table.js";
import { SCENARIOS } from "./scenarios/index.js";

/**
 * Exit codes: 0, 1 if a scenario failed (lost records, a subject that does not start), 2 for an invalid command line.
 */
try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (error instanceof UsageError) console.error(`${error.message}\n\n${HELP}`);
  else console.error(error instanceof SubjectError ? error.message : error);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}

async function main(/** @type {string[]} */ argv) {
  const options = parseOptions(argv);
  const unknown = options.scenarios.find((name) => !Object.hasOwn(SCENARIOS, name));
  if (unknown !== undefined)
    throw new UsageError(`no scenario "${unknown}"; there are ${Object.keys(SCENARIOS).join(", ")}`);
  if (options.help) return print(HELP);
  if (options.list) return print(await listing());
  const outcome = await runAll(options);
  await report(outcome, options);
  return outcome.failures.length === 0 ? 0 : 1;
}

async function runAll(/** @type {import("./lib/options.js").Options} */ options) {
  /** @type {import("./lib/bench.js").Outcome} */
  const all = { tables: [], results: [], failures: [] };
  const bench = await openBench(options);
  const interrupt = () => process.exit(130);
  process.once("SIGINT", interrupt).once("SIGTERM", interrupt);
  try {
    for (const name of options.scenarios) {
      const outcome = await (await SCENARIOS[name]()).run(bench);
      for (const part of /** @type {const} */ (["tables", "results", "failures"])) all[part].push(...outcome[part]);
    }
  } finally {
    bench.progress.clear();
    await bench.close();
    process.off("SIGINT", interrupt).off("SIGTERM", interrupt);
  }
  return all;
}

async function report(
  /** @type {import("./lib/bench.js").Outcome} */ { tables, results, failures },
  /** @type {import("./lib/options.js").Options} */ options,
) {
  const machine = {
    node: process.version,
    platform: platform(),
    arch: arch(),
    cpus: cpus().length,
    cpu: cpus()[0]?.model,
  };
  const json = `${JSON.stringify({ ok: failures.length === 0, failures, machine, at: new Date().toISOString(), results }, null, 2)}\n`;
  if (options.json === "-") process.stdout.write(json);
  else for (const table of tables) console.log(formatTable(table));
  if (options.json !== undefined && options.json !== "-") await writeFile(options.json, json);
  for (const failure of failures) console.error(`FAILED  ${failure}`);
}

async function listing() {
  const lines = Object.entries(SCENARIOS).map(async ([name, load]) => `${name.padEnd(12)} ${(await load()).summary}\n`);
  return (await Promise.all(lines)).join("");
}

function print(/** @type {string} */ text) {
  process.stdout.write(text);
  return 0;
}
