import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of the package this code is part of, wherever in it the code was put. */
export function packageFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, "package.json"))) folder = dirname(folder);
  return folder;
}

export function packageVersion(): string {
  const manifest = readFileSync(join(packageFolder(), "package.json"), "utf8");
  return String((JSON.parse(manifest) as { version: unknown }).version);
}
