/** Turns of the event loop for work that may take long. */
export { atOnce, inTurns, SLICE_MS, SliceTimer, type Steps, Stopwatch, turns } from "./turns.js";
export { type Step, WorkQueue } from "./work-queue.js";
