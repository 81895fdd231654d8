/** Waiting with a limit, signals that follow others, timers that keep the process alive, and cron expressions. */

export { type Cron, parseCron } from "./cron.js";
export { anySignal, keepAliveTimer, type Timer, waitAtMost } from "./wait-at-most.js";
