import { cpSync, existsSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";

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
  for (const part of ["package.json", "bin", "dist"]) {
    const filter = (path: string) => path !== join(project, "dist", "binary"); // no part of the package, and 100 MB
    cpSync(join(project, part), join(modules, "sluice", part), { recursive: true, filter });
  }
}
