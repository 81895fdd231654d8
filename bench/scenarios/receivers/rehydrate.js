import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import * as zlib from "node:zlib";
import { compress } from "../../../dist/runtime/codecs/compression/door.js";
import { batchFromJson, batchToJsonBytes } from "../../../dist/runtime/otlp/json/door.js";
import { show } from "../../lib/table.js";

/**
 * The speed of rehydrations: records per second of an agent that reads an archive of one hour in a folder and sends it
 * to the exporter nop, without and with a queue in front. Records have ten attributes. The agent is a process of its
 * own, as people run it; the CPU time of all its threads is measured too. The receivers `aws_s3` and `file` read objects
 * with the same code.
 */
export const summary = "rehydrate: archived records from a folder to nop, records a second and CPU a record";

const RECORDS_PER_REQUEST = 500;
const REQUESTS_PER_OBJECT = 40;
const GOAL = 200_000;
const NOON = Date.parse("2026-03-10T12:00:00Z");

const ALL_CELLS = [
  { name: "otlp_proto, gzip", format: "binpb", compression: "gzip", hasQueue: false, goal: GOAL },
  { name: "otlp_proto, zstd", format: "binpb", compression: "zstd", hasQueue: false, goal: GOAL },
  { name: "otlp_proto, not compressed", format: "binpb", compression: "", hasQueue: false, goal: GOAL },
  { name: "otlp_json, gzip", format: "json", compression: "gzip", hasQueue: false, goal: 0 },
  { name: "otlp_proto, gzip, durable queue", format: "binpb", compression: "gzip", hasQueue: true, goal: 0 },
];
const CELLS = ALL_CELLS.filter(({ compression }) => compression !== "zstd" || "zstdCompressSync" in zlib);

/** @param {import("../../lib/bench.js").Bench} bench @returns {Promise<import("../../lib/bench.js").Outcome>} */
export async function run(bench) {
  const { quick } = bench.options;
  const results = [];
  for (const cell of CELLS.filter(({ name }) => new RegExp(process.env["BENCH_CELLS"] ?? "").test(name))) {
    bench.progress.say(`rehydrate: ${cell.name}`);
    const folder = mkdtempSync(join(tmpdir(), "sluice-bench-rehydrate-"));
    try {
      const records = await writeArchive(join(folder, "archive"), cell, quick ? 4 : 60);
      results.push({
        scenario: "rehydrate",
        name: cell.name,
        goal: cell.goal,
        ...(await measure(folder, cell, records)),
      });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  const slow = quick ? [] : results.filter(({ perSecond, goal }) => perSecond < goal);
  const failures = slow.map(({ name, perSecond }) => `rehydrate: ${name}: ${show(perSecond, 0)} records a second`);
  return { results, failures, tables: [toTable(results)] };
}

/**
 * One object per minute, with different records. Returns the number of records.
 *
 * @param {string} folder @param {(typeof CELLS)[number]} cell @param {number} objects
 */
async function writeArchive(folder, { format, compression }, objects) {
  for (let i = 0; i < objects; i++) {
    const requests = Array.from({ length: REQUESTS_PER_OBJECT }, (_, n) => requestOf(i * REQUESTS_PER_OBJECT + n));
    const plain = Buffer.concat(
      requests.map((batch) => (format === "json" ? batchToJsonBytes(batch, "\n") : Buffer.from(batch.bytes))),
    );
    const bytes = compression === "" ? plain : await compress(/** @type {"gzip" | "zstd"} */ (compression), plain);
    const ending = compression === "" ? "" : compression === "gzip" ? ".gz" : ".zst";
    const minute = String(i % 60).padStart(2, "0");
    const file = join(folder, `year=2026/month=03/day=10/hour=12/minute=${minute}/logs_${i}.${format}${ending}`);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, bytes);
  }
  return objects * REQUESTS_PER_OBJECT * RECORDS_PER_REQUEST;
}

function requestOf(/** @type {number} */ number) {
  const logRecords = Array.from({ length: RECORDS_PER_REQUEST }, (_, i) => ({
    timeUnixNano: String(BigInt(NOON + number) * 1_000_000n + BigInt(i)),
    severityNumber: 9,
    severityText: "INFO",
    body: { stringValue: `request ${number}-${i} handled for customer c${(number * i) % 9973} with status 200` },
    attributes: Array.from({ length: 10 }, (_, a) => ({
      key: `key.${a}`,
      value: { stringValue: `value-${(i * a) % 97}` },
    })),
  }));
  const resource = { attributes: [{ key: "service.name", value: { stringValue: `service-${number % 7}` } }] };
  return batchFromJson("logs", JSON.stringify({ resourceLogs: [{ resource, scopeLogs: [{ logRecords }] }] }));
}

/** @param {string} folder @param {(typeof CELLS)[number]} cell @param {number} records */
async function measure(folder, { hasQueue }, records) {
  const port = await freePort();
  const config = {
    receivers: { nop: {} },
    exporters: { nop: { sending_queue: { enabled: hasQueue, ...(hasQueue && { queue_size: 0 }) } } },
    extensions: {
      admin: { endpoint: `127.0.0.1:${port}`, token_file: join(folder, "token") },
      reliability: { directory: join(folder, "queue") },
    },
    service: {
      extensions: ["admin", "reliability"],
      telemetry: { metrics: { level: "none" } },
      pipelines: { logs: { receivers: ["nop"], exporters: ["nop"] } },
    },
  };
  writeFileSync(join(folder, "config.yaml"), JSON.stringify(config));
  const bin = join(import.meta.dirname, "../../../bin/sluice.js");
  const child = spawn(process.execPath, [bin, "run", "--config", "config.yaml"], {
    cwd: folder,
    stdio: ["ignore", "ignore", "pipe"],
  });
  try {
    await new Promise((resolve, reject) => {
      child.on("exit", reject);
      child.stderr.on("data", (text) => String(text).includes('"msg":"ready"') && resolve(undefined));
    });
    const before = cpuSeconds(child.pid);
    const job = await rehydrate(folder, port);
    if (job.sent !== records) throw new Error(`${job.sent} of ${records} records were sent: ${JSON.stringify(job)}`);
    const seconds = (Date.parse(job.endedAt) - Date.parse(job.startedAt)) / 1000;
    const cpu = cpuSeconds(child.pid) - before;
    return { records, seconds, perSecond: records / seconds, cpuMicroseconds: (cpu / records) * 1e6 };
  } finally {
    child.removeAllListeners("exit");
    child.kill("SIGKILL");
  }
}

/** @param {string} folder @param {number} port */
async function rehydrate(folder, port) {
  const token = readFileSync(join(folder, "token"), "utf8").trim();
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const root = `http://127.0.0.1:${port}/api/v1/rehydrations`;
  const times = { since: "2026-03-10T12:00:00Z", until: "2026-03-10T13:00:00Z", timezone: "UTC" };
  const body = JSON.stringify({ from: `file:${join(folder, "archive")}`, to: "nop", ...times });
  let job = await (await fetch(root, { method: "POST", headers, body })).json();
  while (job.state === "running") {
    await new Promise((resolve) => setTimeout(resolve, 100));
    job = await (await fetch(`${root}/${job.id}`, { headers })).json();
  }
  return job;
}

/** The CPU time of all threads of a process; 0 where there is no /proc. */
function cpuSeconds(/** @type {number | undefined} */ pid) {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
    return (Number(fields[11]) + Number(fields[12])) / 100;
  } catch {
    return 0;
  }
}

/** @returns {Promise<number>} */
function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
      server.close(() => resolve(port));
    });
  });
}

/** @returns {import("../../lib/table.js").Table} */
function toTable(/** @type {{ name: string, perSecond: number, cpuMicroseconds: number, goal: number }[]} */ results) {
  return {
    title: "rehydrate: archived records to nop",
    columns: ["archive", "records/s", "CPU us a record", "goal"],
    rows: results.map(({ name, perSecond, cpuMicroseconds, goal }) => [
      name,
      show(perSecond, 0),
      show(cpuMicroseconds, 2),
      goal === 0 ? "" : `${goal}`,
    ]),
  };
}
