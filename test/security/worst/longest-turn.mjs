import { openSync, readFileSync, readSync, renameSync, writeFileSync } from "node:fs";
import process from "node:process";

/**
 * Loaded into an agent with `--import`: measures the longest turn of its event loop in CPU time of the main thread, which
 * other processes on the machine do not lengthen, and the peak of its memory. SIGUSR2 starts a measurement, and the next
 * one ends it and writes the result to the file LONGEST_TURN_FILE.
 */
const file = process.env["LONGEST_TURN_FILE"];
const stat = openSync(`/proc/self/task/${process.pid}/schedstat`, "r");
const text = Buffer.alloc(64);
let isWatching = false;
let longest = 0;

function cpuNs() {
  const length = readSync(stat, text, 0, text.length, 0);
  return Number(text.latin1Slice(0, length).split(" ", 1)[0]);
}

function watch(/** @type {number} */ before) {
  const now = cpuNs();
  longest = Math.max(longest, now - before);
  if (isWatching) setImmediate(watch, now);
}

function peakMiB() {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "latin1"))?.[1]) / 1024;
}

process.on("SIGUSR2", () => {
  isWatching = !isWatching;
  if (isWatching) {
    longest = 0;
    writeFileSync("/proc/self/clear_refs", "5"); // the peak begins anew
    setImmediate(() => setImmediate(watch, cpuNs()));
  }
  const result = isWatching ? { isWatching } : { longestMs: longest / 1e6, peakMiB: peakMiB() };
  writeFileSync(`${file}.new`, JSON.stringify(result));
  renameSync(`${file}.new`, `${file}`);
});
