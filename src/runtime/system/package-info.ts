import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * Returns the folder of the package that contains this code. Undefined if the code was moved out of it, for example by
 * a bundler; then the nearest package.json belongs to another package, or there is none.
 */
export function packageFolder(from = fileURLToPath(import.meta.url)): string | undefined {
  for (let folder = dirname(from); ; folder = dirname(folder)) {
    if (readManifest(folder)?.name === "sluice") return folder;
    if (dirname(folder) === folder) return undefined;
  }
}

/** Returns the version of this package; "unknown" if it cannot be determined. */
export function packageVersion(from?: string): string {
  const folder = packageFolder(from);
  return String((folder === undefined ? undefined : readManifest(folder)?.version) ?? "unknown");
}

function readManifest(folder: string): { readonly name?: unknown; readonly version?: unknown } | undefined {
  try {
    return JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  } catch {
    return undefined;
  }
}

/** Imports a module of another package. A single executable does it in another way. */
export function importModule(url: string): Promise<Record<string, unknown>> {
  return import(url) as Promise<Record<string, unknown>>;
}
