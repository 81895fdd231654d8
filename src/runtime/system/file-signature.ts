import { statSync } from "node:fs";

/** Differs when the path leads to another file or another version of it; also for a folder, when files come or go. */
export function fileSignature(file: string): string {
  try {
    const { ino, size, mtimeMs, ctimeMs } = statSync(file);
    return `${file} ${ino} ${size} ${mtimeMs} ${ctimeMs}`;
  } catch {
    return `${file} is gone`;
  }
}
