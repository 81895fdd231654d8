/** Waiting with a limit, and timers that keep the process alive. */

export { keepAliveTimer, type Timer, waitAtMost } from "./wait-at-most.js";
