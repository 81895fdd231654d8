import inspector from "node:inspector";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { GCProfiler, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { startCountingCopies, stopCountingCopies } from "./copies.js";

/**
 * What the work of this process takes: bytes allocated in V8's heap, bytes copied between buffers, the functions that
 * were entered, and the longest delay of the event loop in milliseconds. Each is measured between a call of `begin` and
 * one of `end`, and by itself: measuring one thing changes the others.
 *
 * @typedef {"allocated" | "copied" | "entered" | "loop"} Meter
 */
const session = new inspector.Session();
let profiler = new GCProfiler();
/** @type {((...args: any[]) => any) | undefined} */
let gc;
let isCovering = false;
const delays = monitorEventLoopDelay({ resolution: 1 });

/** @type {Record<Meter, { begin(): void, end(): any }>} */
const METERS = {
  allocated: {
    begin: () => {
      profiler = new GCProfiler();
      collect();
      profiler.start();
      collect();
    },
    end: () => {
      collect();
      return allocatedBetween(/** @type {any} */ (profiler.stop()).statistics);
    },
  },
  copied: { begin: startCountingCopies, end: stopCountingCopies },
  entered: {
    begin: () => {
      if (!isCovering) {
        session.connect();
        post("Profiler.enable");
        post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
        isCovering = true;
      }
      post("Profiler.takePreciseCoverage"); // sets the counts back
    },
    end: () => enteredOf(post("Profiler.takePreciseCoverage").result),
  },
  loop: {
    begin: () => {
      delays.reset();
      delays.enable();
    },
    end: () => {
      delays.disable();
      return delays.max / 1e6;
    },
  },
};

/** These can be called from another process; see `serve`. */
export const meterCalls = {
  begin: (/** @type {Meter} */ what) => METERS[what].begin(),
  end: (/** @type {Meter} */ what) => METERS[what].end(),
};

/** What each collection found, less what the one before left. */
function allocatedBetween(/** @type {import("node:v8").GCProfilerResult["statistics"]} */ collections) {
  let bytes = 0;
  let left = collections[0].afterGC.heapStatistics.usedHeapSize;
  for (const { beforeGC, afterGC } of collections.slice(1)) {
    bytes += beforeGC.heapStatistics.usedHeapSize - left;
    left = afterGC.heapStatistics.usedHeapSize;
  }
  return bytes;
}

/** A full collection. */
function collect() {
  if (gc === undefined) {
    setFlagsFromString("--expose-gc");
    gc = runInNewContext("gc");
  }
  gc?.();
}

/** The functions of Sluice that ran, as "file:offset". @param {inspector.Profiler.ScriptCoverage[]} scripts @returns {string[]} */
function enteredOf(scripts) {
  return scripts.flatMap(({ url, functions }) => {
    const file = url.includes("/node_modules/") ? undefined : /\/dist\/(.*)\.js$/.exec(url)?.[1];
    if (file === undefined) return [];
    const ran = functions.filter(({ ranges }) => ranges[0].count > 0);
    return ran.map(({ functionName, ranges }) => `${file}:${functionName}@${ranges[0].startOffset}`);
  });
}

/** Calls into the same thread are answered at once. @returns {any} */
function post(/** @type {string} */ method, /** @type {object} */ params = {}) {
  /** @type {any} */
  let answer;
  session.post(method, params, (error, result) => {
    if (error) throw error;
    answer = result;
  });
  return answer;
}
