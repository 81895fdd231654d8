/**
 * Code of the thread that watches the main thread. It is a string, so that it needs no file wherever Sluice is
 * installed. The shared cells: 0 changes while the main thread is alive, 1 is the running plugin component (0: none), 2
 * the last one that ran, 3 the heap's usage in percent. The thread writes directly to stderr, because the main thread
 * cannot.
 */
export const WATCHDOG_THREAD = `
const { parentPort, workerData } = require("node:worker_threads");
const { writeSync } = require("node:fs");
const { cells: shared, json, limitMs } = workerData;
const cells = new Int32Array(shared);
const names = [""];
const GROWTH = 512 * 1024 * 1024;
const FULL = 85;

parentPort.on("message", (name) => names.push(name));
let beat = -1;
let since = performance.now();
let memory = 0;
let hasReportedStuck = false;
let hasReportedFull = false;

setInterval(() => {
  const now = Atomics.load(cells, 0);
  if (now === beat) return checkStuck();
  if (hasReportedStuck) report("info", names[cells[2]], "the event loop continues after " + seconds());
  beat = now;
  since = performance.now();
  memory = process.memoryUsage.rss();
  hasReportedStuck = false;
  checkHeap();
}, 250);

function checkStuck() {
  const ms = performance.now() - since;
  const grown = process.memoryUsage.rss() - memory;
  if (hasReportedStuck || ms < 1000 || (ms < limitMs && grown < GROWTH)) return;
  hasReportedStuck = true;
  const growth = grown < GROWTH ? "" : "; meanwhile the process has grown by " + Math.round(grown / 1048576) + " MiB";
  const running = Atomics.load(cells, 1);
  const reason = running > 0
    ? "the plugin's code has been running for " + seconds() + " without a break, and blocks everything else: an endless loop?"
    : "nothing has run for " + seconds() + "; the plugin named here is the last that did: an endless loop after an await?";
  report("error", names[running || Atomics.load(cells, 2)], reason + growth);
}

function checkHeap() {
  const percent = cells[3];
  if (percent < FULL - 10) hasReportedFull = false;
  if (percent < FULL || hasReportedFull) return;
  hasReportedFull = true;
  const last = names[cells[2]];
  report("error", last, "the heap is " + percent + " % full; plugins here: " + names.slice(1).join(", ") + "; named is the last that ran");
}

function seconds() {
  return Math.round((performance.now() - since) / 1000) + " s";
}

function report(level, component, msg) {
  const time = new Date().toISOString();
  const line = json ? JSON.stringify({ level, time, component, msg }) : time + " " + level.toUpperCase() + " " + component + ": " + msg;
  try {
    writeSync(2, line + "\\n");
  } catch {}
}
`;
