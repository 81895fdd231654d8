/**
 * Deletes declarations in dist that no door of the package leads to, because they cannot be imported. In the others,
 * names are imported from the files that declare them, because the internal doors (`#net`) are not shipped. The build
 * runs this after tsc.
 */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

const root = dirname(import.meta.dirname);
const { exports, imports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

const needed = new Set();
for (const { types } of Object.values(exports)) if (types !== undefined) visit(join(root, types));
for (const name of readdirSync(join(root, "dist"), { recursive: true })) {
  const file = join(root, "dist", name);
  if (file.endsWith(".d.ts") && !needed.has(file)) rmSync(file);
}

function visit(file) {
  if (needed.has(file)) return;
  needed.add(file);
  const written = readFileSync(file, "utf8");
  const text = withoutDoors(file, written);
  if (text !== written) writeFileSync(file, text);
  for (const [, path] of text.matchAll(/\b(?:from|import)\s*\(?\s*"(\.[^"]*)\.js"/g))
    visit(join(dirname(file), `${path}.d.ts`));
}

function withoutDoors(file, text) {
  return text
    .replace(/^(import|export) (type )?\{([^}]*)\} from "(#[^"]+)";$/gm, (_, word, type = "", list, door) => {
      const byFile = new Map();
      for (const each of listed(list)) {
        const at = declarationOf(door, nameOf(each));
        byFile.set(at, [...(byFile.get(at) ?? []), each]);
      }
      return [...byFile]
        .map(([at, names]) => `${word} ${type}{ ${names.join(", ")} } from "${path(file, at)}";`)
        .join("\n");
    })
    .replace(/\bimport\("(#[^"]+)"\)\.(\w+)/g, (_, door, name) => {
      return `import("${path(file, declarationOf(door, name))}").${name}`;
    });
}

/** The file that declares a name exported by a door. */
function declarationOf(door, name) {
  const exact = imports[door]?.default;
  if (exact !== undefined) return join(root, exact.replace(/\.js$/, ".d.ts"));
  const file = join(root, imports["#*"].default.replace("*", door.slice(1)).replace(/\.js$/, ".d.ts"));
  for (const [, list, from] of readFileSync(file, "utf8").matchAll(/\{([^}]*)\} from "([^"]*)\.js"/g)) {
    if (listed(list).some((each) => nameOf(each) === name)) return join(dirname(file), `${from}.d.ts`);
  }
  throw new Error(`${door} has no ${name}`);
}

function path(from, to) {
  if (!existsSync(to)) throw new Error(`${from} needs ${to}`);
  const found = relative(dirname(from), to).replace(/\.d\.ts$/, ".js");
  return found.startsWith(".") ? found : `./${found}`;
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
