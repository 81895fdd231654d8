/** Waiting with a limit, timers that keep the process alive, and cron expressions. */

export { type Cron, parseCron } from "./cron.js";
export { keepAliveTimer, type Timer, waitAtMost } from "./wait-at-most.js";
