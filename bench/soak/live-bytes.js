import { readFileSync } from "node:fs";
import { setImmediate as turn } from "node:timers/promises";
import { writeHeapSnapshot } from "node:v8";
import { serve } from "../lib/processes/role.js";

/**
 * Loaded into the agent with --import, together with --expose-gc: reports the bytes that are live after a collection.
 * The agent itself does not know about it.
 *
 * @typedef {{ heap: number, external: number, arrayBuffers: number, rssAnon: number | null, cpuMs: number }} LiveBytes
 *   heap: objects and strings; external: memory outside of the heap that objects hold, array buffers included; rssAnon:
 *   what the process has of the system without mapped files, garbage and free room of the allocator included
 */
serve({ liveBytes, heapSnapshot: (/** @type {string} */ file) => writeHeapSnapshot(file) });

/** Collects twice: objects released by finalizers of the first collection are garbage only for the second. */
async function liveBytes() {
  for (let i = 0; i < 2; i++) {
    globalThis.gc?.();
    await turn();
  }
  const { heapUsed, external, arrayBuffers } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  return { heap: heapUsed, external, arrayBuffers, rssAnon: rssAnon(), cpuMs: (user + system) / 1000 };
}

function rssAnon() {
  try {
    const status = readFileSync("/proc/self/status", "latin1");
    return Number(/^RssAnon:\s+(\d+)/m.exec(status)?.[1]) * 1024;
  } catch {
    return null; // this system has no /proc
  }
}
