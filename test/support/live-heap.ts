import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Bytes on the heap that something still holds: garbage is collected first. */
export function liveHeap(): number {
  return liveMemory().heapUsed;
}

/** Bytes of array buffers, which are outside of the heap, that something still holds. */
export function liveArrayBuffers(): number {
  return liveMemory().arrayBuffers;
}

/** References to JavaScript objects that native code holds, in bytes. */
export async function liveNativeReferences(): Promise<number> {
  for (let i = 0; i < 3; i++) {
    collectGarbage();
    await new Promise((resolve) => setImmediate(resolve)); // Node.js releases them then
  }
  return getHeapStatistics().used_global_handles_size;
}

export function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
}

function liveMemory(): NodeJS.MemoryUsage {
  collectGarbage();
  collectGarbage(); // array buffers are freed in the background; a second collection waits for that
  return process.memoryUsage();
}
