import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Bytes on the heap that something still holds: garbage is collected first. */
export function liveHeap(): number {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc") as () => void;
  gc();
  return process.memoryUsage().heapUsed;
}
