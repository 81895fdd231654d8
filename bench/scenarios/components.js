import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CELLS } from "../components/cells.js";
import { DRIVERS } from "../components/drivers.js";
import { PAGE_SAMPLES, page, SCRAPE_SECONDS } from "../components/load.js";
import { freePort } from "../lib/processes/ports.js";
import { startRole } from "../lib/processes/role.js";
import { usageOf } from "../lib/processes/usage.js";
import { median } from "../lib/statistics.js";
import { show } from "../lib/table.js";
import { untilSeconds } from "../lib/until-seconds.js";

/**
 * Components one by one, each in a process of its own: microseconds of CPU a record, all threads counted. What they send
 * to, what scrapes them and what sends to them are other processes. Rounds of a cell are one after another; the best counts,
 * since everything that disturbs makes it longer, and the median is beside it. What scrapes is measured in the same seconds as
 * the real Prometheus, both long enough after their start that nothing is new to them.
 *
 * BENCH_CELLS chooses cells by a part of their names.
 */
export const summary =
  "components one by one: scraping, remote write, span_metrics, jaeger, zipkin, loki, in CPU a record";

/** @typedef {{ scenario: string, name: string, unit: string, usPerRecord: number, medianUs: number, mbPerCpuSecond?: number, longestBlockMs?: number, goal?: number, goalBlockMs?: number }} Row */

/** @param {import("../lib/bench.js").Bench} bench @returns {Promise<import("../lib/bench.js").Outcome>} */
export async function run(bench) {
  const { quick } = bench.options;
  const wanted = process.env["BENCH_CELLS"] ?? "";
  const target = await startTarget();
  /** @type {Row[]} */
  const results = [];
  try {
    for (const name of Object.keys(CELLS).filter((each) => each.includes(wanted))) {
      bench.progress.say(`components: ${name}`);
      if (name.startsWith("prometheus receiver")) results.push(...(await measureScraping(name, target.port, quick)));
      else results.push(await measure(name, { sink: bench.setting.sink, target: target.port }, quick));
    }
  } finally {
    target.stop();
  }
  const failures = quick ? [] : results.flatMap(failureOf);
  return { results, failures, tables: [toTable(results)] };
}

function failureOf(
  /** @type {Row} */ { name, unit, usPerRecord, goal = Infinity, longestBlockMs = 0, goalBlockMs = Infinity },
) {
  return [
    ...(usPerRecord > goal ? [`components: ${name}: ${show(usPerRecord, 2)} us a ${unit}`] : []),
    ...(longestBlockMs > goalBlockMs ? [`components: ${name}: a turn of ${show(longestBlockMs)} ms`] : []),
  ];
}

/** @param {string} name @param {import("../components/cells.js").CellSetting} setting @param {boolean} quick @returns {Promise<Row>} */
async function measure(name, setting, quick) {
  const { goal, goalBlockMs } = CELLS[name];
  const role = startRole(new URL("../roles/component.js", import.meta.url));
  try {
    const port = await role.call("start", { cell: name, setting });
    const drive = await DRIVERS[name]?.(port);
    const turns = (/** @type {number} */ seconds) =>
      drive === undefined ? role.call("turns", seconds) : untilSeconds(seconds, drive);
    await turns(quick ? 0.2 : 3);
    const times = [];
    for (let round = 0; round < (quick ? 1 : 5); round++) {
      const before = await role.call("usage");
      const records = await turns(quick ? 0.2 : 2);
      times.push(((await role.call("usage")) - before) / records);
    }
    const row = rowOf(name, CELLS[name].unit, times, goal);
    if (goalBlockMs === undefined) return row;
    await role.call("watch");
    await turns(quick ? 0.2 : 4);
    return { ...row, longestBlockMs: await role.call("unwatch"), goalBlockMs };
  } finally {
    await role.stop();
  }
}

/** @param {string} name @param {string} unit @param {number[]} times @param {number} [goal] @returns {Row} */
function rowOf(name, unit, times, goal) {
  const best = { usPerRecord: Math.min(...times), medianUs: median(times) };
  return { scenario: "components", name, unit, ...best, ...(goal !== undefined && { goal }) };
}

const pageSpeed = (/** @type {number} */ usPerSample) => page(PAGE_SAMPLES, 1).length / (usPerSample * PAGE_SAMPLES);

/** The target: its values are others at every scrape. */
async function startTarget() {
  const pages = Array.from({ length: 4 }, (_, turn) => page(PAGE_SAMPLES, turn));
  let scrapes = 0;
  const server = http.createServer((_, response) => {
    response.setHeader("content-type", "text/plain; version=0.0.4");
    response.end(pages[scrapes++ % pages.length]);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    port: /** @type {any} */ (server.address()).port,
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

function hasPrometheus() {
  return spawnSync("prometheus", ["--version"]).error === undefined;
}

/** Scrapes until code is compiled and series are known; then the scrapes of a round, and the rounds. */
const WARM_SCRAPES = 10;
const ROUND_SCRAPES = 2;
const ROUNDS = 5;

/** The receiver, and beside it the real Prometheus, where there is one: half of that is the goal. @returns {Promise<Row[]>} */
async function measureScraping(/** @type {string} */ name, /** @type {number} */ target, /** @type {boolean} */ quick) {
  const prometheus = hasPrometheus() ? await startPrometheus(target) : undefined;
  const role = startRole(new URL("../roles/component.js", import.meta.url));
  try {
    await role.call("start", { cell: name, setting: { sink: 0, target } });
    // A turn ends with the page that comes last in its time.
    const scrapes = (/** @type {number} */ count) => role.call("turns", (count - 0.5) * SCRAPE_SECONDS);
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
    return [{ ...row, mbPerCpuSecond: pageSpeed(row.usPerRecord) }, ...other];
  } finally {
    await role.stop();
    await prometheus?.stop();
  }
}

/** The real Prometheus, scraping the same target as often. */
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

/** @param {Row[]} results @returns {import("../lib/table.js").Table} */
function toTable(results) {
  const known = (/** @type {number | undefined} */ value, digits = 0) =>
    value === undefined ? "" : show(value, digits);
  return {
    title:
      "components: microseconds of CPU a record, all threads counted; and the longest turn of the event loop, in CPU time of its thread",
    columns: ["component", "of a", "us, best", "median", "goal", "MB a CPU s", "longest turn ms"],
    rows: results.map((row) => [
      row.name,
      row.unit,
      show(row.usPerRecord, 2),
      show(row.medianUs, 2),
      known(row.goal, 2),
      known(row.mbPerCpuSecond),
      known(row.longestBlockMs, 1),
    ]),
  };
}
