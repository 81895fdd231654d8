/** Writes docs/contributing/map.md from scripts/rooms.js. With --print it writes the page to stdout instead. */
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { ROOMS } from "./rooms.js";

const file = join(dirname(import.meta.dirname), "docs", "contributing", "map.md");
const rows = ROOMS.map(({ path, purpose }) => `| \`${path}\` | ${purpose} |`);
const map = ["| room | what is in it |", "| --- | --- |", ...rows].join("\n");
const text = readFileSync(file, "utf8").replace(/(<!-- rooms -->\n)[\s\S]*(\n<!-- \/rooms -->)/, `$1${map}$2`);

if (process.argv.includes("--print")) process.stdout.write(text);
else writeFileSync(file, text);
