import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { protoRequest } from "../lib/load/records.js";
import { startRole } from "../lib/processes/role.js";
import { startSubject } from "../lib/processes/run-subject.js";
import { median } from "../lib/statistics.js";
import { sluice } from "../lib/subjects.js";
import { placeOf } from "./place.js";
import { spreadOf } from "./ratios.js";

/** Short waits at the command line, each as a ratio to `node -e 0` in the same round, and the size of the package. */

const CLI = fileURLToPath(new URL("../../bin/sluice.js", import.meta.url));
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const ROUNDS = 11;
const POLL_MS = 1;

/** @param {("start" | "version")[]} kinds @returns {Promise<import("./compare.js").Measured[]>} */
export async function measureStarts(kinds) {
  const sink = startRole(new URL("../roles/sink.js", import.meta.url));
  const folder = await mkdtemp(join(tmpdir(), "sluice-ledger-"));
  try {
    const sinkPort = await sink.call("listen", 0);
    await timeOf([CLI, "--version"]); // fills the cache of compiled code
    /** @type {Record<"start" | "version", number[]>} */
    const ratios = { start: [], version: [] };
    for (let i = 0; i < ROUNDS; i++) {
      const node = await timeOf(["-e", "0"]);
      if (kinds.includes("version")) ratios.version.push((await timeOf([CLI, "--version"])) / node);
      if (kinds.includes("start")) ratios.start.push((await timeToFirstAnswer(sinkPort)) / node);
    }
    const names = { start: "sluice run", version: "sluice --version" };
    return kinds.map((kind) => ({
      name: names[kind],
      kind,
      value: Math.round(median(ratios[kind]) * 100) / 100,
      spread: spreadOf(ratios[kind]),
    }));
  } finally {
    await sink.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Kilobytes of the packed package. @returns {import("./compare.js").Measured} */
export function measurePackage() {
  const packed = execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
    cwd: ROOT,
    encoding: "utf8",
    maxBuffer: 1 << 26,
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [{ size }] = JSON.parse(packed);
  return { name: "npm package", kind: "package", value: Math.round(size / 1000), spread: 0 };
}

/** Milliseconds from the start of the process until a record was answered. @param {number} sink */
async function timeToFirstAnswer(sink) {
  const setting = {
    ...placeOf({}),
    sink,
    signal: /** @type {const} */ ("logs"),
    encoding: /** @type {const} */ ("proto"),
  };
  const started = performance.now();
  const running = await startSubject(sluice, setting, POLL_MS);
  try {
    await post(running.port, protoRequest("logs", 1));
    return performance.now() - started;
  } finally {
    await running.stop();
  }
}

/** @param {number} port @param {Buffer} body @returns {Promise<void>} */
function post(port, body) {
  const headers = { "content-type": "application/x-protobuf", "content-length": body.length };
  return new Promise((resolve, reject) => {
    const sent = request({ host: "127.0.0.1", port, method: "POST", path: "/v1/logs", headers }, (answer) => {
      answer.resume();
      if (answer.statusCode === 200) resolve();
      else reject(new Error(`the agent answers ${answer.statusCode}`));
    });
    sent.on("error", reject).end(body);
  });
}

/** Milliseconds that a Node process takes from start to exit. @param {string[]} args */
async function timeOf(args) {
  const started = performance.now();
  const [code] = await once(spawn(process.execPath, args, { stdio: "ignore" }), "close");
  if (code !== 0) throw new Error(`node ${args.join(" ")} ended with ${code}`);
  return performance.now() - started;
}
