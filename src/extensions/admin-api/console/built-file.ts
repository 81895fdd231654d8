import { readFileSync } from "node:fs";
import { join } from "node:path";
import { packageFolder } from "#system";

/** Reads a file of the console from dist/console, where the build has written it; undefined if there is none. */
export function readBuiltFile(name: string): Buffer | undefined {
  const folder = packageFolder();
  if (folder === undefined) return undefined;
  try {
    return readFileSync(join(folder, "dist", "console", name));
  } catch {
    return undefined;
  }
}
