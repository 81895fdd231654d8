import { existsSync, openSync, readSync } from "node:fs";
import { tuneV8 } from "../../dist/agent/cli/v8.js";
import { CELLS } from "../components/cells.js";
import { meterCalls } from "../ledger/meter.js";
import { serve } from "../lib/processes/role.js";
import { untilSeconds } from "../lib/until-seconds.js";

/**
 * One component in its own process, so that the process's usage is the component's usage. V8 has the settings of
 * `sluice run`.
 */
tuneV8();

/** @type {import("../components/cells.js").Running | undefined} */
let running;
/** CPU time of the main thread, in nanoseconds: the first number in this file of Linux. */
const SCHEDULED = `/proc/self/task/${process.pid}/schedstat`;
const scheduled = existsSync(SCHEDULED) ? openSync(SCHEDULED, "r") : undefined;
const text = Buffer.alloc(64);
const MAX_ARRIVAL_MS = 20_000;
let isWatching = false;
let longestTurnNs = 0;

serve({
  ...meterCalls,
  start: async ({ cell, setting }) => {
    running = await CELLS[cell].start(setting);
    const { port, bare } = running;
    return { port, hasBare: bare !== undefined, barePort: bare?.port };
  },
  /** Takes turns for this long, of the component or its counterpart; returns the number of records. */
  turns: ({ seconds, isBare }) => untilSeconds(seconds, /** @type {() => Promise<number>} */ (side(isBare)?.turn)),
  /** The same this many times. */
  times: async ({ times }) => {
    let records = 0;
    for (let i = 0; i < times; i++) records += (await running?.turn?.()) ?? 0;
    return records;
  },
  /** Resolves when this many records have come out; a machine that takes longer is too busy to measure anything. */
  until: ({ count, isBare }) =>
    new Promise((resolve, reject) => {
      const tooLate = () => reject(new Error(`only ${side(isBare)?.count?.()} of ${count} records have arrived`));
      const timer = setTimeout(tooLate, MAX_ARRIVAL_MS);
      side(isBare)
        ?.until?.(count)
        .then(() => {
          clearTimeout(timer);
          resolve(undefined);
        });
    }),
  usage: () => {
    const { user, system } = process.cpuUsage();
    return user + system;
  },
  /**
   * Begins to measure how long the event loop is blocked: the CPU time of the main thread between two turns, which does
   * not depend on the machine's load. Measuring takes CPU too.
   */
  watch: () => {
    longestTurnNs = 0;
    isWatching = true;
    setImmediate(watchTurn, cpuNs());
  },
  /** The longest turn since then, in milliseconds. */
  unwatch: () => {
    isWatching = false;
    return longestTurnNs / 1e6;
  },
  /** Stops the component; returns the number of records that came out. */
  stop: async () => {
    await running?.stop();
    return running?.count();
  },
});

function side(/** @type {boolean | undefined} */ isBare) {
  return isBare ? running?.bare : running;
}

function watchTurn(/** @type {number} */ before) {
  const now = cpuNs();
  longestTurnNs = Math.max(longestTurnNs, now - before);
  if (isWatching) setImmediate(watchTurn, now);
}

/** Without /proc it is the CPU time of all threads, which is longer. */
function cpuNs() {
  if (scheduled === undefined) {
    const { user, system } = process.cpuUsage();
    return (user + system) * 1000;
  }
  return Number.parseInt(text.toString("latin1", 0, readSync(scheduled, text, 0, text.length, 0)), 10);
}
