import { statSync } from "node:fs";
import type { Clock } from "#contract";

/** How often the files are looked at, in milliseconds. */
const INTERVAL_MS = 500;

/**
 * Calls `onChange` when one of the files has changed, appeared or disappeared, and then stayed the same for one
 * interval: a file that is being written is not read. It compares what the path leads to, so replaced files and links
 * (as Kubernetes swaps those of a ConfigMap) are noticed. `files` is asked each time. Returns a function that ends it.
 */
export function watchFiles(files: () => Iterable<string>, clock: Clock, onChange: () => void): () => void {
  let known = signature(files());
  let last = known;
  let cancel = () => {};
  const check = () => {
    const now = signature(files());
    if (now !== known && now === last) {
      known = now;
      onChange();
    }
    last = now;
    cancel = clock.after(INTERVAL_MS, check);
  };
  cancel = clock.after(INTERVAL_MS, check);
  return () => cancel();
}

function signature(files: Iterable<string>): string {
  return [...files].sort().map(signatureOf).join("\n");
}

/** Differs when the path leads to another file or another version of it; also for a folder, when files come or go. */
export function signatureOf(file: string): string {
  try {
    const { ino, size, mtimeMs, ctimeMs } = statSync(file);
    return `${file} ${ino} ${size} ${mtimeMs} ${ctimeMs}`;
  } catch {
    return `${file} is gone`;
  }
}
