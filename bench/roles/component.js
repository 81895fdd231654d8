import { monitorEventLoopDelay } from "node:perf_hooks";
import { CELLS } from "../components/cells.js";
import { serve } from "../lib/processes/role.js";
import { untilSeconds } from "../lib/until-seconds.js";

/** One component in a process of its own, so that what this process uses is what the component uses. */

/** @type {import("../components/cells.js").Running | undefined} */
let running;
const delay = monitorEventLoopDelay({ resolution: 1 });

serve({
  start: async ({ cell, setting }) => {
    running = await CELLS[cell].start(setting);
    return running.port;
  },
  /** Takes turns for so long; how many records that were. */
  turns: (seconds) => untilSeconds(seconds, /** @type {() => Promise<number>} */ (running?.turn)),
  usage: () => {
    const { user, system } = process.cpuUsage();
    const longestBlockMs = delay.max / 1e6;
    delay.enable();
    delay.reset();
    return { cpuUs: user + system, longestBlockMs };
  },
  stop: () => running?.stop(),
});
