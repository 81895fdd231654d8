/** Trying again and waiting: delays that grow, pauses that a signal ends, time limits, work that is repeated. */

export { atIntervals } from "./at-intervals.js";
export { backoff, type Delays, type Jitter, jittered } from "./backoff.js";
export { ReadLoop } from "./read-loop.js";
export { isTimedOut, pause, TimeoutError, withTimeout } from "./waits.js";
