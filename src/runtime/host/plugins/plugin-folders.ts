import { existsSync } from "node:fs";
import { dirname, isAbsolute, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { packageFolder } from "#contract";
import { stackFrames } from "../errors/stack-frames.js";

/**
 * Where the code of plugins lies, to tell whose fault an error is that nobody caught: that of the plugin in whose folder
 * the throw happened. Packages that it uses do not count as its code, nor does Sluice, wherever it lies.
 */
export class PluginFolders {
  private readonly folders = new Map<string, string>();

  add(plugin: string, url: string): void {
    try {
      this.folders.set(codeFolder(fileURLToPath(url)), plugin);
    } catch {
      // code that is in no file is nowhere
    }
  }

  /** The plugin whose code threw this; undefined when that cannot be told. */
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

/** The folder of the package that the file is in, or the file's own folder where it is in no package of its own. */
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
