/**
 * Measures the four figures of docs/reference/promises.md on the built agent and prints them: `npm run acceptance --
 * --figures`. With `--write` they are kept in figures.json, from which the page is made. The machine must be quiet: the
 * load is printed and kept with the figures. Takes about four minutes.
 */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { deadLetterWrite } from "./dead-letter-write.js";
import { eventLoss } from "./event-loss.js";
import { recovery } from "./recovery.js";
import { retryOverhead } from "./retry-overhead.js";

const [load] = loadavg();
const machine = `${availableParallelism()} cores, with a load of ${load.toFixed(1)} before`;
console.log(machine);
const figures = [];
for (const measure of [eventLoss, recovery, retryOverhead, deadLetterWrite]) {
  const figure = await measure();
  figures.push(figure);
  console.log(`${figure.name}: ${figure.measured} (asked for: ${figure.asked})`);
}
if (process.argv.includes("--write")) {
  const file = join(import.meta.dirname, "../report/figures.json");
  const date = new Date().toISOString().slice(0, 10);
  const command = "npm run acceptance -- --figures --write";
  writeFileSync(file, `${JSON.stringify({ date, node: process.versions.node, machine, command, figures }, null, 2)}\n`);
  spawnSync("npx", ["biome", "format", "--write", file], { stdio: "ignore" });
}
process.exit(figures.every(({ isKept }) => isKept) ? 0 : 1);
