import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

/** An installed package: its folder and its package.json. */
interface InstalledPackage {
  readonly folder: string;
  readonly manifest: Readonly<Record<string, unknown>>;
}

/** Finds the package that a file in `folder` would import: the one in the nearest node_modules. */
export function findPackage(name: string, folder: string): InstalledPackage | undefined {
  for (let at = resolve(folder); ; at = dirname(at)) {
    const candidate = join(at, "node_modules", name);
    const manifest = readManifest(candidate);
    if (manifest !== undefined) return { folder: candidate, manifest };
    if (dirname(at) === at) return undefined;
  }
}

/** True for a package that declares itself a plugin, so that it may be loaded without being listed. */
export function hasPluginKeyword({ manifest }: InstalledPackage): boolean {
  const { keywords } = manifest;
  return Array.isArray(keywords) && keywords.includes(PLUGIN_KEYWORD);
}

const PLUGIN_KEYWORD = "sluice-plugin";

/**
 * The file that `import` loads for a package (or for a `subpath` such as "./extra"), by its `exports` or `main`;
 * undefined when it has none.
 */
export function entryOf({ folder, manifest }: InstalledPackage, subpath = "."): string | undefined {
  const { exports, main } = manifest;
  if (exports !== undefined && exports !== null) {
    const target = exportTarget(hasSubpaths(exports) ? exports[subpath] : subpath === "." ? exports : undefined);
    return target === undefined ? undefined : join(folder, target);
  }
  if (subpath !== ".") return fileAt(join(folder, subpath));
  return (typeof main === "string" ? fileAt(join(folder, main)) : undefined) ?? fileAt(join(folder, "index.js"));
}

/** The conditions that Node.js checks for an import. */
const CONDITIONS = new Set(["node", "import", "module-sync", "default"]);

function exportTarget(target: unknown): string | undefined {
  if (typeof target === "string") return target;
  if (Array.isArray(target)) return target.map(exportTarget).find((found) => found !== undefined);
  if (typeof target !== "object" || target === null) return undefined;
  for (const [condition, value] of Object.entries(target)) {
    const found = CONDITIONS.has(condition) ? exportTarget(value) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

function hasSubpaths(exports: unknown): exports is Readonly<Record<string, unknown>> {
  return typeof exports === "object" && exports !== null && Object.keys(exports).some((key) => key.startsWith("."));
}

function fileAt(path: string): string | undefined {
  return [path, `${path}.js`, join(path, "index.js")].find(isFile);
}

export function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}

function readManifest(folder: string): Record<string, unknown> | undefined {
  const path = join(folder, "package.json");
  if (!existsSync(path)) return undefined;
  try {
    const manifest: unknown = JSON.parse(readFileSync(path, "utf8"));
    return typeof manifest === "object" && manifest !== null ? (manifest as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
