import type { Reporter, TestModule } from "vitest/node";

/**
 * What the files of a folder may cost, in seconds of a worker on a quiet machine with two cores: importing them, their tests
 * and hooks. The most specific folder counts. Together they are the two minutes of three workers that `npm test` is to take.
 */
const QUICK: Readonly<Record<string, number>> = {
  "test/": 5,
  "test/agent/": 35,
  "test/connectors/": 7,
  "test/docs/": 12,
  "test/exporters/": 34,
  "test/extensions/": 40,
  "test/processors/": 38,
  "test/receivers/": 55,
  "test/runtime/": 40,
  "test/runtime/host/": 14,
  "test/runtime/otlp/": 12,
  "test/runtime/queue/": 55,
  "test/runtime/workers/": 13,
};

/** The same of the extended tests, of which CI runs those that are not for the night in eleven minutes. */
const EXTENDED: Readonly<Record<string, number>> = {
  "test/": 480,
  "test/acceptance/": 500,
  "test/bench/": 180,
  "test/chaos/": 900,
  "test/console/": 240,
  "test/differential/": 60,
  "test/fuzz/": 30,
  "test/packaging/": 240,
  "test/security/": 240,
  "test/security/worst/": 120,
};

const isQuick = process.env["npm_lifecycle_event"] === "test";
const BUDGETS = isQuick ? QUICK : EXTENDED;

/** Prints after a run what the tests of each folder cost, beside its budget. It fails nothing, because the machine may be busy. */
export default class Budgets implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const spent = new Map<string, number>();
    for (const module of modules) {
      const { collectDuration, setupDuration, duration } = module.diagnostic();
      const folder = folderOf(module.relativeModuleId);
      spent.set(folder, (spent.get(folder) ?? 0) + (collectDuration + setupDuration + duration) / 1000);
    }
    const rows = [...spent].sort(([a], [b]) => (a < b ? -1 : 1)).map(([folder, seconds]) => lineOf(folder, seconds));
    process.stdout.write(`\nSeconds by folder, and their budgets:\n${rows.join("")}\n`);
  }
}

function folderOf(file: string): string {
  const folders = Object.keys(BUDGETS).filter((folder) => file.startsWith(folder));
  return folders.reduce((best, folder) => (folder.length > best.length ? folder : best));
}

function lineOf(folder: string, seconds: number): string {
  const budget = BUDGETS[folder]!;
  const note = seconds > budget ? "  over its budget" : "";
  return `  ${folder.padEnd(24)}${seconds.toFixed(1).padStart(8)}${String(budget).padStart(6)}${note}\n`;
}
