import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The version of the package this code is part of, wherever in it the code was put. */
export function packageVersion(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, "package.json"))) folder = dirname(folder);
  return String((JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { version: unknown }).version);
}
