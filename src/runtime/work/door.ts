/** Turns of the event loop for work that may take long. */
export { SLICE_MS, SliceTimer, Stopwatch, turns } from "./turns.js";
export { type Step, WorkQueue } from "./work-queue.js";
