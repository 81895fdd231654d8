import { openSync, readFileSync, readSync, renameSync, writeFileSync } from "node:fs";
import { constants, PerformanceObserver } from "node:perf_hooks";
import process from "node:process";

/**
 * Loaded into an agent with `--import`: measures the longest turn of its event loop in CPU time of the main thread, which
 * other processes on the machine do not lengthen, and the peak of its memory. Collections of the whole heap, which may
 * fall into any turn, are told apart: `longestMs` is without them, `collectionMs` is the longest of them. SIGUSR2 starts a
 * measurement, and the next one ends it and writes the result to the file LONGEST_TURN_FILE.
 */
const file = process.env["LONGEST_TURN_FILE"];
const stat = openSync(`/proc/self/task/${process.pid}/schedstat`, "r");
const text = Buffer.alloc(64);
const LONG_MS = 20;
let isWatching = false;
/** @type {{ start: number, end: number, cpuMs: number }[]} */
let longTurns = [];
/** @type {{ start: number, end: number }[]} */
let collections = [];

new PerformanceObserver((list) => {
  for (const { startTime, duration, detail } of list.getEntries())
    if (/** @type {{ kind: number }} */ (detail).kind === constants.NODE_PERFORMANCE_GC_MAJOR)
      collections.push({ start: startTime, end: startTime + duration });
}).observe({ entryTypes: ["gc"] });

function cpuNs() {
  const length = readSync(stat, text, 0, text.length, 0);
  return Number(text.latin1Slice(0, length).split(" ", 1)[0]);
}

function watch(/** @type {number} */ before, /** @type {number} */ start) {
  const now = cpuNs();
  const end = performance.now();
  if (now - before > LONG_MS * 1e6) longTurns.push({ start, end, cpuMs: (now - before) / 1e6 });
  if (isWatching) setImmediate(watch, now, end);
}

/**
 * The CPU time of a turn without collections of the whole heap. Their CPU time is not known, so they count as their share
 * of the time that the turn took.
 */
function ownMs(/** @type {{ start: number, end: number, cpuMs: number }} */ { start, end, cpuMs }) {
  const shared = (/** @type {{ start: number, end: number }} */ one) =>
    Math.max(0, Math.min(end, one.end) - Math.max(start, one.start));
  return cpuMs * Math.max(0, 1 - collections.reduce((sum, one) => sum + shared(one), 0) / (end - start));
}

function result() {
  return {
    longestMs: Math.max(0, ...longTurns.map(ownMs)),
    collectionMs: Math.max(0, ...collections.map(({ start, end }) => end - start)),
    peakMiB: peakMiB(),
  };
}

function peakMiB() {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "latin1"))?.[1]) / 1024;
}

process.on("SIGUSR2", () => {
  isWatching = !isWatching;
  if (!isWatching) return void setTimeout(() => write(result()), 5); // entries of collections come after their turn
  longTurns = [];
  collections = [];
  writeFileSync("/proc/self/clear_refs", "5"); // the peak begins anew
  setImmediate(() => setImmediate(watch, cpuNs(), performance.now()));
  write({ isWatching });
});

function write(/** @type {object} */ what) {
  writeFileSync(`${file}.new`, JSON.stringify(what));
  renameSync(`${file}.new`, `${file}`);
}
