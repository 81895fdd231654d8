import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

/** A hash of a plugin's main file; empty if it cannot be read. */
export function pluginHash(path: string): string {
  try {
    return createHash("sha256").update(readFileSync(path)).digest("hex");
  } catch {
    return "";
  }
}
