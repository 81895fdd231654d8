import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * The folder of the package this code is part of, wherever in it the code was put; undefined when it was taken out of
 * it, as by a bundler: the next package.json is then that of another package, or there is none.
 */
export function packageFolder(from = fileURLToPath(import.meta.url)): string | undefined {
  for (let folder = dirname(from); ; folder = dirname(folder)) {
    if (readManifest(folder)?.name === "sluice") return folder;
    if (dirname(folder) === folder) return undefined;
  }
}

/** The version of this package; "unknown" when it cannot be told. */
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
