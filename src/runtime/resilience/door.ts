/** Trying again and waiting: delays that grow, pauses that a signal ends, time limits, work that is repeated. */

export { atIntervals } from "./at-intervals.js";
export { backoff, type Delays, type Jitter, jittered } from "./backoff.js";
export { pause } from "./pause.js";
export { ReadLoop } from "./read-loop.js";
export { isTimedOut, TimeoutError, withTimeout } from "./time-limit.js";
