/**
 * Builds, unless dist is just as the last build left it and was made from the files there are now: `npm ci` has built
 * already when `npm test` comes. The build ends with `--done`, which writes down what it read and what it made. Contents
 * are compared, not times, since a checkout of another branch may bring files that are older than dist.
 */
import { execSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";

const root = dirname(import.meta.dirname);
const stamp = join(root, "dist", "built.txt");
/** What the build reads: the lock has the versions of what it bundles. */
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

/** The hash of all that is read and made. */
function state() {
  const hash = createHash("sha256").update(process.version);
  for (const name of [...READ, "dist"]) add(hash, join(root, name));
  return `${hash.digest("hex")}\n`;
}

/** Adds a file, or all that a folder has, each under its path. */
function add(hash, path) {
  if (NOT_MADE.includes(path)) return;
  const isFolder = statSync(path).isDirectory();
  hash.update(`${path.slice(root.length)}${isFolder ? "/" : ""}\n`);
  if (!isFolder) hash.update(readFileSync(path));
  else for (const name of readdirSync(path).sort()) add(hash, join(path, name));
}
