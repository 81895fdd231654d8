import { existsSync } from "node:fs";
import { dirname, isAbsolute, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { packageFolder } from "#system";
import { stackFrames } from "../errors/stack-frames.js";

/**
 * The folders of plugins' code. An uncaught error is attributed to the plugin in whose folder it was thrown. Packages
 * that a plugin depends on do not count as its code, nor does Sluice, wherever it is installed.
 */
export class PluginFolders {
  private readonly folders = new Map<string, string>();

  add(plugin: string, url: string): void {
    try {
      this.folders.set(codeFolder(fileURLToPath(url)), plugin);
    } catch {
      // the URL is not a file
    }
  }

  /** The plugin whose code threw the error; undefined when unknown. */
  pluginOf(error: unknown): string | undefined {
    const file = this.folders.size === 0 ? undefined : stackFrames(error)[0]?.file;
    if (file === undefined) return undefined;
    const sluice = packageFolder(file);
    const found = [...this.folders].filter(
      ([folder]) => isCodeOf(folder, file) && (sluice === undefined || isWithin(sluice, folder)),
    );
    return found.toSorted(([a], [b]) => b.length - a.length)[0]?.[1];
  }
}

/** The folder of the file's package, or the file's own folder if it is in no package of its own. */
function codeFolder(file: string): string {
  for (let folder = dirname(file); folder !== dirname(folder); folder = dirname(folder)) {
    if (existsSync(join(folder, "package.json"))) return folder === packageFolder() ? dirname(file) : folder;
  }
  return dirname(file);
}

function isCodeOf(folder: string, file: string): boolean {
  return isWithin(folder, file) && !relative(folder, file).split(sep).includes("node_modules");
}

function isWithin(folder: string, path: string): boolean {
  const relativePath = relative(folder, path);
  return relativePath.split(sep)[0] !== ".." && !isAbsolute(relativePath);
}
