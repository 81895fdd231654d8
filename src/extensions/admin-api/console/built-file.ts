import { readFileSync } from "node:fs";
import { join } from "node:path";
import { packageFolder } from "#contract";

/** A file of the console as the build left it in dist/console; undefined where there is none. */
export function readBuiltFile(name: string): Buffer | undefined {
  const folder = packageFolder();
  if (folder === undefined) return undefined;
  try {
    return readFileSync(join(folder, "dist", "console", name));
  } catch {
    return undefined;
  }
}
