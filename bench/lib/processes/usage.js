import { existsSync, readdirSync, readFileSync } from "node:fs";

/**
 * Resource usage of a process and its descendants: CPU time of all threads, and resident memory.
 *
 * Read from /proc, which costs the process nothing. Without /proc, a Node process is asked over IPC (see
 * usage-reporter.js), and for other programs nothing is known.
 *
 * @typedef {{ cpuUs: number, rssBytes: number, rssAnonBytes: number | null, peakRssBytes: number }} Usage
 */
export const HAS_PROC = existsSync("/proc/self/stat") && process.env.BENCH_NO_PROC === undefined;

const TICK_US = 10_000; // utime and stime count in USER_HZ, which is 100 on every common Linux
const KIB = 1024;

/** @param {import("node:child_process").ChildProcess} child @returns {Promise<Usage | undefined>} */
export async function usageOf(child) {
  if (HAS_PROC) return procUsage(/** @type {number} */ (child.pid));
  return child.connected ? askUsage(child) : undefined;
}

/** @param {number} root @returns {Usage} */
function procUsage(root) {
  const total = { cpuUs: 0, rssBytes: 0, rssAnonBytes: 0, peakRssBytes: 0 };
  for (const pid of family(root)) {
    const status = read(pid, "status");
    total.cpuUs += cpuTicks(pid) * TICK_US;
    total.rssBytes += kibOf(status, "VmRSS");
    total.rssAnonBytes += kibOf(status, "RssAnon");
    total.peakRssBytes += kibOf(status, "VmHWM");
  }
  return total;
}

/** The process and its descendants. */
function family(/** @type {number} */ root) {
  /** @type {Map<number, number[]>} */
  const children = new Map();
  for (const name of readdirSync("/proc")) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    const parent = Number(statFields(pid)[1]);
    children.set(parent, [...(children.get(parent) ?? []), pid]);
  }
  const found = [root];
  for (const pid of found) found.push(...(children.get(pid) ?? []));
  return found;
}

function cpuTicks(/** @type {number} */ pid) {
  const fields = statFields(pid);
  return Number(fields[11] ?? 0) + Number(fields[12] ?? 0);
}

/** Fields of /proc/<pid>/stat from the state on: the name before it may contain spaces and brackets. */
function statFields(/** @type {number} */ pid) {
  const stat = read(pid, "stat");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

function kibOf(/** @type {string} */ status, /** @type {string} */ key) {
  return Number(new RegExp(`^${key}:\\s+(\\d+)`, "m").exec(status)?.[1] ?? 0) * KIB;
}

function read(/** @type {number} */ pid, /** @type {string} */ file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "latin1");
  } catch {
    return ""; // the process has ended
  }
}

/** @param {import("node:child_process").ChildProcess} child @returns {Promise<Usage>} */
function askUsage(child) {
  return new Promise((resolve, reject) => {
    child.once("message", (usage) => resolve(/** @type {Usage} */ (usage)));
    child.send("usage", (error) => error && reject(error));
  });
}
