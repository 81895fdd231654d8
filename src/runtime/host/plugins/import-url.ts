import { statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { registerOwnPackage } from "./own-package.js";

/** The exports of a plugin's module. */
export type PluginModule = Readonly<Record<string, unknown>>;

/** When the file of each plugin had been changed last when it was first imported. */
const firstVersions = new Map<string, number>();

/**
 * Imports a module; makes sure that it can import Sluice from wherever it is. If its file has changed since it was
 * imported first, the new version is imported beside the old one, which Node.js never unloads.
 */
export async function importUrl(url: string): Promise<PluginModule> {
  registerOwnPackage(url);
  return (await import(versionedUrl(url))) as PluginModule;
}

/** Files that the module itself imports keep the version that was imported first. */
function versionedUrl(url: string): string {
  const version = changedAt(url);
  if (version === undefined) return url;
  const first = firstVersions.get(url) ?? version;
  firstVersions.set(url, first);
  return version === first ? url : `${url}?version=${version}`;
}

function changedAt(url: string): number | undefined {
  try {
    return statSync(fileURLToPath(url)).mtimeMs;
  } catch {
    return undefined; // not a file, or gone: the import says what is wrong
  }
}
