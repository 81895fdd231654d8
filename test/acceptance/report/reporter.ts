import { writeFileSync } from "node:fs";
import { basename } from "node:path";
import type { Reporter, SerializedError, TestCase, TestModule, TestSpecification } from "vitest/node";
import type { RowNumber } from "../rows.js";
import { letterOf, RESULTS_FILE } from "./page.js";
import { lineOf, resultOfRow, rowOf, type TestResult, wantedRows } from "./row-results.js";

/** Set by test/acceptance/run.js: the rows to try, and whether to keep the results for the page. */
const NAMED = (process.env["ACCEPTANCE_ROWS"] ?? "").split(",").filter((name) => name !== "");
const IS_WRITING = process.env["WRITE_RESULTS"] !== undefined;

/** Prints a line for each row in the order of the rows, as soon as the files of all letters before it have ended. */
export default class RowReporter implements Reporter {
  private readonly rows = wantedRows(NAMED);
  private readonly tests: TestResult[] = [];
  /** The files whose tests have not ended. */
  private readonly files = new Set<string>();
  private printed = 0;

  onTestRunStart(specifications: readonly TestSpecification[]): void {
    for (const { moduleId } of specifications) this.files.add(basename(moduleId));
  }

  onTestCaseResult(test: TestCase): void {
    const result = resultOf(test);
    if (result !== undefined) this.tests.push(result);
  }

  onTestModuleEnd({ moduleId }: TestModule): void {
    this.files.delete(basename(moduleId));
    const isDue = (row: RowNumber) => ![...this.files].some((file) => letterOf(file) === row[0]);
    for (let row = this.next(); row !== undefined && isDue(row); row = this.next()) this.print(row);
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    for (let row = this.next(); row !== undefined; row = this.next()) this.print(row);
    const failures = modules.flatMap((module) =>
      module.errors().map((error) => `${module.moduleId}: ${error.message}`),
    );
    const problems = [...failures, ...errors.map(({ message }) => message)];
    for (const problem of problems) console.log(problem);
    const results = this.rows.map((row) => resultOfRow(row, this.tests));
    const count = (state: TestResult["state"]) => results.filter((result) => result.state === state).length;
    console.log(
      `\n${count("ok")} rows ok, ${count("failed")} failed, ${count("not yet")} not yet, ${count("skipped")} skipped`,
    );
    if (problems.length > 0 || count("failed") > 0) process.exitCode = 1;
    if (IS_WRITING) writeFileSync(RESULTS_FILE, resultsFile(results));
  }

  private next(): RowNumber | undefined {
    return this.rows[this.printed];
  }

  private print(row: RowNumber): void {
    console.log(lineOf(resultOfRow(row, this.tests)));
    this.printed++;
  }
}

function resultOf(test: TestCase): TestResult | undefined {
  const row = rowOf(test.name);
  if (row === undefined) return undefined;
  const result = test.result();
  if (result.state === "passed") return { ...row, state: "ok", message: "" };
  if (result.state === "failed")
    return { ...row, state: "failed", message: result.errors.map((error) => error.stack ?? error.message).join("\n") };
  const note = result.state === "skipped" ? (result.note ?? "") : "it did not run";
  if (note.startsWith("not yet: ")) return { ...row, state: "not yet", message: note.slice("not yet: ".length) };
  return { ...row, state: "skipped", message: note };
}

function resultsFile(results: readonly TestResult[]): string {
  const rows = Object.fromEntries(results.map(({ number, state }) => [number, state]));
  const date = new Date().toISOString().slice(0, 10);
  return `${JSON.stringify({ date, node: process.versions.node, rows }, null, 2)}\n`;
}
