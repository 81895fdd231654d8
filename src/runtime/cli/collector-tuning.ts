import { setFlagsFromString } from "node:v8";

/**
 * Lets V8 wait longer between full garbage collections.
 *
 * The agent's heap is small, but request bodies pass through it by the hundred megabytes a second as buffers outside of
 * the heap. V8 counts them against a limit that it derives from the small heap, and collects far too often: a third of
 * the CPU in some profiles. docs/decisions/0005-garbage-collection.md has the measurements.
 */
export function tuneGarbageCollection(): void {
  setFlagsFromString("--heap-growing-percent=300");
}
