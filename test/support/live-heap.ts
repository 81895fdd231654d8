import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Bytes on the heap that something still holds: garbage is collected first. */
export function liveHeap(): number {
  return liveMemory().heapUsed;
}

/** Bytes of array buffers, which are outside of the heap, that something still holds. */
export function liveArrayBuffers(): number {
  return liveMemory().arrayBuffers;
}

function liveMemory(): NodeJS.MemoryUsage {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc") as () => void;
  gc();
  gc(); // array buffers are freed in the background; a second collection waits for that
  return process.memoryUsage();
}
