import { cpSync, existsSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";

const project = join(import.meta.dirname, "../..");

/**
 * Makes `folder` look as after an `npm install` of Sluice and the tools its scaffold wants: the built package is copied,
 * as npm does it, so that it is another copy than the one under test; all else is linked.
 */
export function installSluice(folder: string, { only }: { readonly only?: readonly string[] } = {}): void {
  const modules = join(folder, "node_modules");
  mkdirSync(modules, { recursive: true });
  const from = join(project, "node_modules");
  for (const name of only ?? readdirSync(from)) {
    if (!existsSync(join(modules, name))) symlinkSync(join(from, name), join(modules, name));
  }
  for (const part of ["package.json", "bin", "dist"])
    cpSync(join(project, part), join(modules, "sluice", part), { recursive: true, filter: isPacked });
}

/** Of dist, only the bundle and the types are in the package; the executable, which is not, has 100 MB. */
function isPacked(path: string): boolean {
  const bundle = join(project, "dist", "bundle");
  if (path.startsWith(bundle) || path === join(project, "dist", "binary")) return path.startsWith(bundle);
  return !/\.js(\.map)?$/.test(path) || dirname(path) === join(project, "bin");
}
