/**
 * Writes the table of tested differences in docs/coming-from-the-collector.md from test/differential/differences.yaml.
 * With --print it writes the whole page to stdout instead.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { parse } from "yaml";

const project = dirname(dirname(import.meta.dirname));
const file = join(project, "docs/coming-from-the-collector.md");
const differences = parse(readFileSync(join(project, "test/differential/differences.yaml"), "utf8"));
const cell = (text) => text.trim().replaceAll("\n", " ").replaceAll("|", "\\|");
const rows = differences.map(({ component, collector, sluice, why }) =>
  ["", cell(component), cell(collector), cell(sluice), cell(why), ""].join(" | ").trim(),
);
const table = ["| where | the Collector | Sluice | why, and what to do |", "| --- | --- | --- | --- |", ...rows].join(
  "\n",
);
const text = readFileSync(file, "utf8").replace(
  /(<!-- differences -->\n)[\s\S]*(\n<!-- \/differences -->)/,
  (_, before, after) => before + table + after,
);

if (process.argv.includes("--print")) process.stdout.write(text);
else writeFileSync(file, text);
