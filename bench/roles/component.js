import { existsSync, openSync, readSync } from "node:fs";
import { tuneV8 } from "../../dist/agent/cli/v8.js";
import { CELLS } from "../components/cells.js";
import { serve } from "../lib/processes/role.js";
import { untilSeconds } from "../lib/until-seconds.js";

/**
 * One component in a process of its own, so that what this process uses is what the component uses. V8 has the settings that
 * `sluice run` gives it.
 */
tuneV8();

/** @type {import("../components/cells.js").Running | undefined} */
let running;
/** What the main thread has been given of the CPU, in nanoseconds: Linux tells it first in this file. */
const SCHEDULED = `/proc/self/task/${process.pid}/schedstat`;
const scheduled = existsSync(SCHEDULED) ? openSync(SCHEDULED, "r") : undefined;
const text = Buffer.alloc(64);
const MAX_ARRIVAL_MS = 20_000;
let isWatching = false;
let longestTurnNs = 0;

serve({
  start: async ({ cell, setting }) => {
    running = await CELLS[cell].start(setting);
    const { port, bare } = running;
    return { port, hasBare: bare !== undefined, barePort: bare?.port };
  },
  /** Takes turns for so long, of the component or of what is beside it; how many records that were. */
  turns: ({ seconds, isBare }) => untilSeconds(seconds, /** @type {() => Promise<number>} */ (side(isBare)?.turn)),
  /** Resolves when so many records have come out; a machine that takes longer is too busy to measure anything. */
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
   * Begins to watch how long the event loop is held: the CPU time that the main thread takes from one turn of it to the next,
   * which a busy machine makes no longer. Watching takes CPU too.
   */
  watch: () => {
    longestTurnNs = 0;
    isWatching = true;
    setImmediate(watchTurn, cpuNs());
  },
  /** The longest turn since, in milliseconds. */
  unwatch: () => {
    isWatching = false;
    return longestTurnNs / 1e6;
  },
  /** Ends it; how many records have come out by then. */
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
