import { readdirSync, realpathSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { errorMessage } from "#contract/errors";
import { didYouMean } from "#contract/schema";
import { entryOf, findPackage, isFile } from "./package-entry.js";

/** The URL of a plugin's code, or the reason why it was not found. */
type PluginLocation = { readonly url: string } | { readonly problem: string; readonly suggestion?: string | undefined };

/**
 * Finds an item of `plugins:`: a path or a package, resolved against the config's folder. Never throws. Follows
 * symbolic links like Node.js: imports of a linked package are resolved at its real location.
 */
export function locatePlugin(specifier: string, folder: string): PluginLocation {
  try {
    const location = locate(specifier, folder);
    if ("problem" in location) return location;
    return { url: pathToFileURL(realpathSync(fileURLToPath(location.url))).href };
  } catch (error) {
    return { problem: errorMessage(error) }; // an error of the file system, or a URL that is not a local file
  }
}

function locate(specifier: string, folder: string): PluginLocation {
  if (specifier.startsWith("file:")) return locateFile(fileURLToPath(specifier));
  if (/^\.\.?([/\\]|$)/.test(specifier) || isAbsolute(specifier)) return locateFile(resolve(folder, specifier));
  return locatePackage(specifier, folder);
}

function locateFile(path: string): PluginLocation {
  if (isFile(path)) return { url: pathToFileURL(path).href };
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) {
    return { problem: `${path} is a folder`, suggestion: "name the file in it that exports the component" };
  }
  const { suggestion } = didYouMean(basename(path), filesIn(dirname(path)));
  return { problem: `there is no file ${path}`, suggestion };
}

function locatePackage(specifier: string, folder: string): PluginLocation {
  const [, name, rest] = /^((?:@[^/]+\/)?[^/]+)(\/.*)?$/.exec(specifier) ?? [];
  if (name === undefined) return { problem: `"${specifier}" is neither a path nor the name of a package` };
  const found = findPackage(name, folder);
  const entry = found && entryOf(found, rest === undefined ? "." : `.${rest}`);
  if (entry !== undefined && isFile(entry)) return { url: pathToFileURL(entry).href };
  const required = resolveAsRequire(specifier, folder);
  if (required !== undefined) return { url: pathToFileURL(required).href };
  if (found !== undefined) {
    const problem = `the package in ${found.folder} has no code to load: ${entry ?? "its package.json names none"}`;
    return { problem, suggestion: entry === undefined ? undefined : "build it: npm run build" };
  }
  const path = isFile(join(folder, specifier)) ? `a path begins with a dot: ./${specifier}` : undefined;
  return {
    problem: `there is no package "${name}" in ${join(resolve(folder), "node_modules")}, nor in the folders above`,
    suggestion: path ?? `npm install ${name}`,
  };
}

/** For packages outside node_modules: a package that refers to itself, or a package manager with its own resolution. */
function resolveAsRequire(specifier: string, folder: string): string | undefined {
  try {
    const path = createRequire(join(resolve(folder), "config.yaml")).resolve(specifier);
    return isAbsolute(path) ? path : undefined; // built-in modules of Node.js are not plugins
  } catch {
    return undefined;
  }
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
