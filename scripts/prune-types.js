/**
 * Keeps of the declarations in dist those that a door of the package leads to: of what nobody can import nobody needs the
 * types. Run by the build, after tsc.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const root = dirname(import.meta.dirname);
const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

/** The internal door. Of what it hands on only what a door of the package leads to is kept. */
const kit = join(root, "dist", "runtime", "kit.d.ts");
const kitNames = new Set();
const needed = new Set([kit]);
for (const { types } of Object.values(exports)) if (types !== undefined) visit(join(root, types));
pruneKit();
for (const name of readdirSync(join(root, "dist"), { recursive: true })) {
  const file = join(root, "dist", name);
  if (file.endsWith(".d.ts") && !needed.has(file)) rmSync(file);
}

function visit(file) {
  if (needed.has(file)) return;
  needed.add(file);
  const text = readFileSync(file, "utf8");
  for (const [, path] of text.matchAll(/\b(?:from|import)\s*\(?\s*"(\.[^"]*)\.js"/g)) {
    const target = join(dirname(file), `${path}.d.ts`);
    if (target === kit) for (const name of namesFromKit(text)) kitNames.add(name);
    else visit(target);
  }
}

function namesFromKit(text) {
  return [...text.matchAll(/\{([^}]*)\} from "[^"]*\/kit\.js"/g)].flatMap(([, list]) => listed(list)).map(nameOf);
}

function listed(list) {
  return list
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "");
}

function nameOf(specifier) {
  return specifier.replace(/^type /, "").split(" as ")[0];
}

function pruneKit() {
  const text = readFileSync(kit, "utf8").replace(
    /^export (type )?(?:\{([^}]*)\}|\* as (\w+)) from "([^"]*)\.js";$/gm,
    (_, type, list, whole, path) => {
      const kept = listed(list ?? whole).filter((each) => kitNames.has(nameOf(each)));
      if (kept.length === 0) return "";
      visit(join(dirname(kit), `${path}.d.ts`));
      return `export ${type ?? ""}${list === undefined ? `* as ${whole}` : `{ ${kept.join(", ")} }`} from "${path}.js";`;
    },
  );
  writeFileSync(kit, text.replace(/\n{2,}/g, "\n"));
}
