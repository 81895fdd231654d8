import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";

/** Much more than certificates and source files have. */
const MAX_BYTES = 64 * 1024 * 1024;

/** A hash of the content of a file; undefined if it cannot be read or is no ordinary file. A pipe or device may be endless. */
export function fileHash(path: string): string | undefined {
  try {
    const stats = statSync(path);
    if (!stats.isFile() || stats.size > MAX_BYTES) return undefined;
    return createHash("sha256").update(readFileSync(path)).digest("hex");
  } catch {
    return undefined;
  }
}

/** Differs when the path leads to another file or another version of it; also for a folder, when files come or go. */
export function fileSignature(file: string): string {
  try {
    const { ino, size, mtimeMs, ctimeMs } = statSync(file);
    return `${file} ${ino} ${size} ${mtimeMs} ${ctimeMs}`;
  } catch {
    return `${file} is gone`;
  }
}
