/**
 * Keeps of the declarations in dist those that a door of the package leads to: of what nobody can import nobody needs the
 * types. Run by the build, after tsc.
 */
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";

const root = dirname(import.meta.dirname);
const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

const needed = new Set();
for (const { types } of Object.values(exports)) if (types !== undefined) visit(join(root, types));
for (const name of readdirSync(join(root, "dist"), { recursive: true })) {
  const file = join(root, "dist", name);
  if (file.endsWith(".d.ts") && !needed.has(file)) rmSync(file);
}

function visit(file) {
  if (needed.has(file)) return;
  needed.add(file);
  for (const [, path] of readFileSync(file, "utf8").matchAll(/\b(?:from|import)\s*\(?\s*"(\.[^"]*)\.js"/g)) {
    visit(join(dirname(file), `${path}.d.ts`));
  }
}
