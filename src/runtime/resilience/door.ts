/** Trying again and waiting: delays that grow, pauses that a signal ends, time limits, work that is repeated. */

export { ReadLoop } from "./read-loop.js";
export {
  atIntervals,
  backoff,
  type Delays,
  isTimedOut,
  type Jitter,
  jittered,
  pause,
  TimeoutError,
  withTimeout,
} from "./waits.js";
