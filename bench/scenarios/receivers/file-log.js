import { closeSync, mkdtempSync, openSync, readSync, rmSync, statSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tuneV8 } from "../../../dist/agent/cli/v8.js";
import { fileLogReceiver } from "../../../dist/receivers/file-log/component.js";
import { systemClock } from "../../../dist/runtime/contract/clock.js";
import { noMetrics, silentLogger } from "../../../dist/runtime/contract/observability.js";
import { show } from "../../lib/table.js";

/**
 * The cost of reading log files: megabytes per second of CPU, all threads of the process included, from a file in the
 * system's cache to batches that are accepted at once. It is compared with a bare reader, which reads the same file and
 * counts its lines. V8 has the settings of `sluice run`. Each cell is measured several times in turns, and the best
 * counts.
 */
export const summary = "file_log: lines as they are and parsed as JSON, in MB a CPU second, against a bare reader";

const LINES = 1000;
const RAW = (/** @type {number} */ i) =>
  `2024-05-06T07:08:09.${String(i).padStart(3, "0")}Z INFO cart request ${i} handled in ${i % 97}ms for customer c${i * 7} with status 200 ok`;
const JSON_LINE = (/** @type {number} */ i) =>
  JSON.stringify({
    time: `2024-05-06T07:08:09.${String(i).padStart(3, "0")}Z`,
    level: "info",
    msg: `request ${i} handled`,
    service: "cart",
    customer: `c${i * 7}`,
    duration_ms: i % 97,
    status: 200,
  });
const TIMESTAMP = { parse_from: "attributes.time", layout: "%Y-%m-%dT%H:%M:%S.%LZ" };
const SEVERITY = { parse_from: "attributes.level" };

const CELLS = [
  { name: "lines as they are", line: RAW, operators: [], goal: 150 },
  { name: "json_parser", line: JSON_LINE, operators: [{ type: "json_parser" }], goal: 60 },
  {
    name: "json_parser with time and severity",
    line: JSON_LINE,
    operators: [{ type: "json_parser", timestamp: TIMESTAMP, severity: SEVERITY }],
    goal: 60,
  },
];

/** @param {import("../../lib/bench.js").Bench} bench @returns {Promise<import("../../lib/bench.js").Outcome>} */
export async function run(bench) {
  const { quick } = bench.options;
  tuneV8();
  const folder = mkdtempSync(join(tmpdir(), "sluice-bench-file-log-"));
  const results = [];
  try {
    for (const [index, cell] of CELLS.entries()) {
      bench.progress.say(`file_log: ${cell.name}`);
      const file = join(folder, `${index}.log`);
      const records = writeLines(file, cell.line, quick ? 10e6 : 200e6);
      const rounds = Array.from({ length: quick ? 1 : 3 }, (_, round) => ({ file, records, cell, folder, round }));
      let [best, bare] = [0, 0];
      for (const round of rounds) {
        best = Math.max(best, await measure(round));
        bare = Math.max(bare, measureBare(file, records));
      }
      results.push({
        scenario: "file_log",
        name: cell.name,
        mbPerCpuSecond: best,
        bareMbPerCpuSecond: bare,
        goal: cell.goal,
      });
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const slow = quick ? [] : results.filter(({ mbPerCpuSecond, goal }) => mbPerCpuSecond < goal);
  const failures = slow.map(
    ({ name, mbPerCpuSecond }) => `file_log: ${name}: ${show(mbPerCpuSecond, 0)} MB a CPU second`,
  );
  return { results, failures, tables: [toTable(results)] };
}

/** Returns the number of written lines. */
function writeLines(/** @type {string} */ file, /** @type {(i: number) => string} */ line, /** @type {number} */ size) {
  const block = Buffer.from(`${Array.from({ length: LINES }, (_, i) => line(i)).join("\n")}\n`);
  const fd = openSync(file, "w");
  let records = 0;
  for (let written = 0; written < size; written += block.length, records += LINES) writeSync(fd, block);
  closeSync(fd);
  return records;
}

/** @param {{ file: string, records: number, cell: (typeof CELLS)[number], folder: string, round: number }} cell */
async function measure({ file, records, cell, folder, round }) {
  const config = fileLogReceiver.schema.parse({
    include: [file],
    start_at: "beginning",
    offsets_directory: join(folder, `offsets-${round}-${cell.name}`),
    operators: cell.operators,
  });
  let count = 0;
  /** @type {(value?: unknown) => void} */
  let done = () => {};
  const finished = new Promise((resolve) => {
    done = resolve;
  });
  const accept = async (/** @type {import("../../../dist/plugin.js").Batch} */ batch) => {
    count += batch.count;
    if (count >= records) done();
    return /** @type {const} */ ({ ok: true, rejected: 0, message: "" });
  };
  const receiver = fileLogReceiver.create(config, {
    id: "file_log",
    kind: "receiver",
    logger: silentLogger,
    metrics: noMetrics,
    clock: systemClock,
    random: Math.random,
    intakes: { logs: { accept, reserve: () => true, release() {} } },
  });
  const awake = setInterval(() => {}, 1000);
  const before = process.cpuUsage();
  await receiver.start();
  await finished;
  const mbPerCpuSecond = speed(file, before);
  await receiver.stop();
  clearInterval(awake);
  if (count !== records) throw new Error(`file_log: ${count} of ${records} records came`);
  return mbPerCpuSecond;
}

function measureBare(/** @type {string} */ file, /** @type {number} */ records) {
  const before = process.cpuUsage();
  const fd = openSync(file, "r");
  const buffer = Buffer.allocUnsafe(1024 * 1024);
  let lines = 0;
  for (let size = readSync(fd, buffer); size > 0; size = readSync(fd, buffer)) {
    const part = buffer.subarray(0, size);
    for (let at = part.indexOf(10); at >= 0; at = part.indexOf(10, at + 1)) lines++;
  }
  closeSync(fd);
  if (lines !== records) throw new Error(`the bare reader has counted ${lines} of ${records} lines`);
  return speed(file, before);
}

function speed(/** @type {string} */ file, /** @type {NodeJS.CpuUsage} */ before) {
  const { user, system } = process.cpuUsage(before);
  return statSync(file).size / (user + system);
}

/** @returns {import("../../lib/table.js").Table} */
function toTable(
  /** @type {{ name: string, mbPerCpuSecond: number, bareMbPerCpuSecond: number, goal: number }[]} */ results,
) {
  return {
    title: "file_log: MB a second of CPU, all threads counted",
    columns: ["lines", "file_log", "bare reader", "goal"],
    rows: results.map(({ name, mbPerCpuSecond, bareMbPerCpuSecond, goal }) => [
      name,
      show(mbPerCpuSecond, 0),
      show(bareMbPerCpuSecond, 0),
      goal === 0 ? "" : `${goal}`,
    ]),
  };
}
