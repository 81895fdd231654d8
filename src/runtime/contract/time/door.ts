/** Waiting with a limit, signals that follow others, timers that keep the process alive, and cron expressions. */

export { anySignal } from "./any-signal.js";
export { type Cron, parseCron } from "./cron.js";
export { keepAliveTimer, type Timer, waitAtMost } from "./wait-at-most.js";
