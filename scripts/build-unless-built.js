/**
 * Builds, unless dist is unchanged since the last build and was made from the current files: `npm ci` has already built
 * when `npm test` runs. The build ends with `--done`, which records what it read and wrote. Contents are compared
 * instead of times, because another branch may have files that are older than dist. The version of Node.js does not
 * count: the build is the same to the byte with each, and tests on another version try what users install.
 */
import { execSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";

const root = dirname(import.meta.dirname);
const stamp = join(root, "dist", "built.txt");
/** The files that the build reads; package-lock.json has the versions of bundled packages. */
const READ = [
  "src",
  "console",
  "scripts",
  "bin",
  "package.json",
  "package-lock.json",
  "tsconfig.json",
  "tsconfig.build.json",
];
/** The executable is made by another command. */
const NOT_MADE = [stamp, join(root, "dist", "binary")];

if (process.argv.includes("--done")) writeFileSync(stamp, state());
else if (!existsSync(stamp) || readFileSync(stamp, "utf8") !== state())
  execSync("npm run build", { cwd: root, stdio: "inherit" });

/** A hash of everything that is read and written. */
function state() {
  const hash = createHash("sha256");
  for (const name of [...READ, "dist"]) add(hash, join(root, name));
  return `${hash.digest("hex")}\n`;
}

/** Adds a file, or all files of a folder, each with its path. */
function add(hash, path) {
  if (NOT_MADE.includes(path)) return;
  const isFolder = statSync(path).isDirectory();
  hash.update(`${path.slice(root.length)}${isFolder ? "/" : ""}\n`);
  if (!isFolder) hash.update(readFileSync(path));
  else for (const name of readdirSync(path).sort()) add(hash, join(path, name));
}
