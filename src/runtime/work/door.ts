/** Turns of the event loop for work that may take long. */
export { SLICE_MS, turns } from "./turns.js";
