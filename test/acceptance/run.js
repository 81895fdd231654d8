/**
 * Tries every promise of docs/reference/promises.md on the built agent, and prints a line for each row. The exit code is 1
 * if a row fails or has no test.
 *
 * `npm run acceptance -- R E3` tries only the rows R1, R2 ... and E3. `--figures` measures the figures in place of the
 * rows. `--write` also writes the results and the page.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import process from "node:process";

const root = join(import.meta.dirname, "../..");
const args = process.argv.slice(2);
const wanted = args.filter((arg) => !arg.startsWith("--"));
const isWriting = args.includes("--write");

const status = args.includes("--figures") ? measure() : tryRows();
if (isWriting) vitest(["test/docs/promises.test.ts", "-t", "promises.md"], { WRITE_PROMISES: "1" });
process.exit(status);

function tryRows() {
  const letters = wanted.map((row) => row[0].toLowerCase());
  const files = letters.flatMap((letter) => [`test/acceptance/${letter}.test.ts`, `test/acceptance/${letter}-`]);
  const names = wanted.map((row) => (row.length === 1 ? `${row}\\d+` : row));
  return vitest(
    [
      ...(files.length === 0 ? ["test/acceptance"] : new Set(files)),
      ...(names.length === 0 ? [] : ["-t", `^(${names.join("|")}) `]),
      ...["--reporter", "./test/acceptance/report/reporter.ts", "--silent"],
    ],
    { ACCEPTANCE_ROWS: wanted.join(","), ...(isWriting && wanted.length === 0 ? { WRITE_RESULTS: "1" } : {}) },
  );
}

function measure() {
  spawnSync(process.execPath, ["scripts/build-unless-built.js"], { cwd: root, stdio: "inherit" });
  return run(["test/acceptance/figures/measure.js", ...(isWriting ? ["--write"] : [])], {});
}

function vitest(rest, env) {
  return run([join(root, "node_modules/vitest/vitest.mjs"), "run", ...rest], env);
}

function run(argv, env) {
  const { status: code } = spawnSync(process.execPath, argv, {
    cwd: root,
    stdio: "inherit",
    env: { ...process.env, ...env },
  });
  return code ?? 1;
}
