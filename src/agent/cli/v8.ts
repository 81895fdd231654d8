import process from "node:process";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/**
 * Settings of V8 that `sluice run` changes, because it owns its process. Nothing else may import this file: a program
 * that embeds Sluice, or a test, keeps its own settings.
 */

/**
 * Sets values that suit an agent better than V8's defaults. The benchmark does the same in the processes that measure
 * single components. Call this when the agent has started: V8 rejects code that was compiled with other flags, so all
 * modules of Node.js that are loaded afterwards are compiled from their source.
 */
export function tuneV8(): void {
  tuneGarbageCollection();
  compileEarly();
}

/**
 * Lets V8 wait longer between full garbage collections.
 *
 * The agent's heap is small, but request bodies pass through it by the hundred megabytes a second as buffers outside of
 * the heap. V8 counts them against a limit that it derives from the small heap, and collects far too often: a third of
 * the CPU in some profiles. docs/decisions/0005-garbage-collection.md has the measurements.
 */
function tuneGarbageCollection(): void {
  setFlagsFromString("--heap-growing-percent=300");
}

/**
 * Makes V8 compile hot functions seven times as early as by default.
 *
 * An agent runs the same few functions on every record from its first request on, so waiting gains nothing: until they
 * are compiled a record takes several times as long. docs/decisions/0036-early-compilation.md has the measurements.
 */
function compileEarly(): void {
  if (HAS_INTERRUPT_BUDGET) setFlagsFromString("--interrupt-budget=10000");
}

/**
 * V8 of Node.js 22 and later has another compiler in between, which is early by itself. It prints an error for a flag
 * that it does not know.
 */
const HAS_INTERRUPT_BUDGET = process.versions.v8.startsWith("11.");

let exposedGc: (() => void) | undefined;

/**
 * Runs a full garbage collection if V8 allows it: V8 gives `gc` to contexts that are created while its flag is set.
 * Agents do this to find deliveries that a plugin has dropped: docs/decisions/0013-lost-deliveries.md.
 */
export function collectGarbage(): void {
  exposedGc ??= globalThis.gc ?? exposeGc();
  exposedGc();
}

function exposeGc(): () => void {
  try {
    setFlagsFromString("--expose-gc");
    const gc: unknown = runInNewContext("gc");
    setFlagsFromString("--no-expose-gc");
    return typeof gc === "function" ? () => void gc() : () => {};
  } catch {
    return () => {};
  }
}
