import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CELLS } from "../components/cells.js";
import { page } from "../components/foreign-load.js";
import { PAGE_SAMPLES, SCRAPE_SECONDS } from "../components/load.js";
import { startTargets } from "../components/targets.js";
import { freePort } from "../lib/processes/ports.js";
import { startRole } from "../lib/processes/role.js";
import { usageOf } from "../lib/processes/usage.js";
import { median } from "../lib/statistics.js";
import { show } from "../lib/table.js";
import { untilSeconds } from "../lib/until-seconds.js";

/**
 * Components one by one, each in its own process: CPU time per record in microseconds, all threads included. Their
 * targets, scrapers and senders are other processes. Rounds of a cell alternate with those of its counterpart. The best
 * round counts, because every disturbance makes it longer; the median is reported too. Scraping is measured in the same
 * seconds as the real Prometheus, both long enough after their start that all series are known.
 *
 * A cell fails if the number of records that came out differs from the number that went in, or, if it makes others, if
 * none came out.
 *
 * BENCH_CELLS selects cells by parts of their names, separated by |.
 */
export const summary = "components one by one, beside bare things that do the same, in CPU a record";

/** @typedef {{ scenario: string, name: string, unit: string, usPerRecord: number, medianUs: number, in: number, out: number, base?: string, baseUs?: number, ratio?: number, mbPerCpuSecond?: number, longestBlockMs?: number, goal?: number, goalBlockMs?: number }} Row */

/** @param {import("../lib/bench.js").Bench} bench @returns {Promise<import("../lib/bench.js").Outcome>} */
export async function run(bench) {
  const { quick } = bench.options;
  const wanted = (process.env["BENCH_CELLS"] ?? "").split("|");
  const targets = await startTargets();
  const setting = { target: targets.http, grpc: targets.grpc };
  /** @type {Row[]} */
  const results = [];
  /** @type {string[]} */
  const skipped = [];
  try {
    for (const name of Object.keys(CELLS).filter((each) => wanted.some((part) => each.includes(part)))) {
      const missing = CELLS[name].missing?.();
      if (missing !== undefined) {
        skipped.push(`${name}: ${missing}`);
        continue;
      }
      bench.progress.say(`components: ${name}`);
      if (name.startsWith("prometheus receiver")) results.push(...(await measureScraping(name, setting, quick)));
      else results.push(await measure(name, setting, quick));
    }
  } finally {
    targets.stop();
  }
  const failures = results.flatMap((row) => [...countProblems(row), ...(quick ? [] : slowness(row))]);
  return { results, failures, tables: [toTable(results, skipped)] };
}

/** A measurement of zero records is invalid. */
export function countProblems(/** @type {Row} */ { name, in: given, out }) {
  if (CELLS[name] === undefined) return []; // the real Prometheus
  const isRight = CELLS[name].makesOthers ? given > 0 && out > 0 : given > 0 && out === given;
  return isRight ? [] : [`components: ${name}: ${show(given)} records went in, ${show(out)} came out`];
}

function slowness(
  /** @type {Row} */ { name, unit, usPerRecord, goal = Infinity, longestBlockMs = 0, goalBlockMs = Infinity },
) {
  return [
    ...(usPerRecord > goal ? [`components: ${name}: ${show(usPerRecord, 2)} us a ${unit}`] : []),
    ...(longestBlockMs > goalBlockMs ? [`components: ${name}: a turn of ${show(longestBlockMs)} ms`] : []),
  ];
}

/** Length of the warm-up and of a round in seconds, and the number of rounds. */
const LONG = { warmSeconds: 3, seconds: 1.5, rounds: 5 };
const QUICK = { warmSeconds: 0.1, seconds: 0.1, rounds: 1 };

/** @param {string} name @param {import("../components/cells.js").CellSetting} setting @param {boolean} quick @returns {Promise<Row>} */
async function measure(name, setting, quick) {
  const { goal, goalBlockMs, drive, base } = CELLS[name];
  const { warmSeconds, seconds, rounds } = quick ? QUICK : LONG;
  const role = startRole(new URL("../roles/component.js", import.meta.url));
  try {
    const { port, hasBare, barePort } = await role.call("start", { cell: name, setting });
    let given = 0;
    const turnsOf = async (/** @type {number} */ port, /** @type {boolean} */ isBare) => {
      const driven =
        port &&
        (await drive?.({ port, arrived: (/** @type {number} */ count) => role.call("until", { count, isBare }) }));
      return (/** @type {number} */ seconds) =>
        driven ? untilSeconds(seconds, driven) : role.call("turns", { seconds, isBare });
    };
    const turns = await turnsOf(port, false);
    const bareTurns = hasBare ? await turnsOf(barePort, true) : undefined;
    given += await turns(warmSeconds);
    await bareTurns?.(warmSeconds / 3);
    /** @type {number[]} */
    const times = [];
    /** @type {number[]} */
    const bareTimes = [];
    for (let round = 0; round < rounds; round++) {
      const before = await role.call("usage");
      const records = await turns(seconds);
      const between = await role.call("usage");
      given += records;
      times.push((between - before) / records);
      if (bareTurns !== undefined) {
        const bareRecords = await bareTurns(seconds / 2);
        bareTimes.push(((await role.call("usage")) - between) / bareRecords);
      }
    }
    const longest = goalBlockMs === undefined ? {} : await watched(role, turns, quick);
    const out = await role.call("stop");
    const beside = bareTimes.length === 0 ? {} : besideOf(times, bareTimes, base);
    return {
      ...rowOf(name, CELLS[name].unit, times, goal),
      in: given,
      out,
      ...beside,
      ...longest,
      ...(goalBlockMs && { goalBlockMs }),
    };
  } finally {
    await role.stop();
  }
}

function besideOf(
  /** @type {number[]} */ times,
  /** @type {number[]} */ bareTimes,
  /** @type {string | undefined} */ base,
) {
  const ratio = median(times.map((time, i) => time / bareTimes[i]));
  return { base, baseUs: Math.min(...bareTimes), ratio };
}

/** @returns {Promise<{ longestBlockMs: number }>} */
async function watched(
  /** @type {import("../lib/processes/role.js").Role} */ role,
  /** @type {(seconds: number) => Promise<number>} */ turns,
  /** @type {boolean} */ quick,
) {
  await role.call("watch");
  await turns(quick ? 0.2 : 4);
  return { longestBlockMs: await role.call("unwatch") };
}

/** @param {string} name @param {string} unit @param {number[]} times @param {number} [goal] */
function rowOf(name, unit, times, goal) {
  const best = { usPerRecord: Math.min(...times), medianUs: median(times) };
  return { scenario: "components", name, unit, ...best, in: 0, out: 0, ...(goal !== undefined && { goal }) };
}

const pageSpeed = (/** @type {number} */ usPerSample) => page(PAGE_SAMPLES, 1).length / (usPerSample * PAGE_SAMPLES);

function hasPrometheus() {
  return spawnSync("prometheus", ["--version"]).error === undefined;
}

/** Scrapes until code is compiled and series are known; then the scrapes per round, and the rounds. */
const WARM_SCRAPES = 10;
const ROUND_SCRAPES = 2;
const ROUNDS = 5;

/**
 * The receiver and, where it is installed, the real Prometheus: half of its cost is the goal.
 * @returns {Promise<Row[]>}
 */
async function measureScraping(
  /** @type {string} */ name,
  /** @type {import("../components/cells.js").CellSetting} */ setting,
  /** @type {boolean} */ quick,
) {
  const prometheus = hasPrometheus() ? await startPrometheus(setting.target) : undefined;
  const role = startRole(new URL("../roles/component.js", import.meta.url));
  try {
    await role.call("start", { cell: name, setting });
    // A turn ends with the last page in its time.
    const scrapes = (/** @type {number} */ count) => role.call("turns", { seconds: (count - 0.5) * SCRAPE_SECONDS });
    await scrapes(quick ? 1 : WARM_SCRAPES);
    const own = [];
    const others = [];
    for (let round = 0; round < (quick ? 1 : ROUNDS); round++) {
      const [before, otherBefore] = [await role.call("usage"), await prometheus?.cpuUs()];
      const samples = await scrapes(quick ? 1 : ROUND_SCRAPES);
      own.push(((await role.call("usage")) - before) / samples);
      if (prometheus !== undefined) others.push(((await prometheus.cpuUs()) - otherBefore) / samples);
    }
    const other = others.length === 0 ? [] : [rowOf("  Prometheus itself, in the same seconds", "sample", others)];
    const row = rowOf(name, CELLS[name].unit, own, other[0] && other[0].usPerRecord / 2);
    // Besides the page a scrape has its own samples, such as `up`.
    const out = await role.call("stop");
    return [{ ...row, in: out, out, mbPerCpuSecond: pageSpeed(row.usPerRecord) }, ...other];
  } finally {
    await role.stop();
    await prometheus?.stop();
  }
}

/** The real Prometheus, scraping the same target at the same interval. */
async function startPrometheus(/** @type {number} */ target) {
  const folder = mkdtempSync(join(tmpdir(), "sluice-bench-prometheus-"));
  const scrape = { job_name: "bench", static_configs: [{ targets: [`127.0.0.1:${target}`] }] };
  const global = { scrape_interval: `${SCRAPE_SECONDS}s`, scrape_timeout: `${SCRAPE_SECONDS}s` };
  writeFileSync(join(folder, "prometheus.yml"), JSON.stringify({ global, scrape_configs: [scrape] }));
  const listen = `--web.listen-address=127.0.0.1:${await freePort()}`;
  const files = [`--config.file=${folder}/prometheus.yml`, `--storage.tsdb.path=${folder}/data`];
  const child = spawn("prometheus", [...files, listen], { stdio: "ignore" });
  return {
    cpuUs: async () => (await usageOf(child))?.cpuUs ?? 0,
    stop: async () => {
      child.kill("SIGKILL");
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** @param {Row[]} results @param {string[]} skipped @returns {import("../lib/table.js").Table} */
function toTable(results, skipped) {
  const known = (/** @type {number | undefined} */ value, digits = 0) =>
    value === undefined ? "" : show(value, digits);
  return {
    title:
      "components: microseconds of CPU a record, all threads counted; and the longest turn of the event loop, in CPU time of its thread",
    columns: [
      "component",
      "of a",
      "us, best",
      "median",
      "goal",
      "bare us",
      "ratio",
      "came out",
      "MB a CPU s",
      "longest turn ms",
      "bare is",
    ],
    rows: results.map((row) => [
      row.name,
      row.unit,
      show(row.usPerRecord, 2),
      show(row.medianUs, 2),
      known(row.goal, 2),
      known(row.baseUs, 2),
      known(row.ratio, 2),
      show(row.out),
      known(row.mbPerCpuSecond),
      known(row.longestBlockMs, 1),
      row.base ?? "",
    ]),
    ...(skipped.length > 0 && { note: `Not measured: ${skipped.join("; ")}.` }),
  };
}
