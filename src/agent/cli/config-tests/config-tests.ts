import { readFile } from "node:fs/promises";
import type { ResolvedConfig } from "#config/resolve";
import { painter, printable, printableJson } from "#text";
import type { CommandContext } from "../command.js";
import { loadFromArguments } from "../load-from-arguments.js";
import { pluralize } from "../print/text.js";
import { showProblems } from "../show-problems.js";
import { EXIT, type Output, UsageError } from "../terminal.js";
import { NoIntakeError, runConfigTest } from "./run-config-test.js";
import { type ConfigTest, readTestFile, TestFileError } from "./test-file.js";

interface TestResult {
  readonly file: string;
  readonly name: string;
  readonly failures: readonly string[];
}

/** `sluice test` */
export async function testConfig(context: CommandContext): Promise<number> {
  const { values, terminal } = context;
  const files = (values["names"] ?? []) as readonly string[];
  if (files.length === 0)
    throw new UsageError("no tests were given", "name a file: sluice test --config pipeline.yaml tests.yaml");
  const { config, problems, lineAt } = await loadFromArguments(context);
  if (config === undefined) {
    showProblems(problems, lineAt, terminal.err);
    return EXIT.failed;
  }
  const results: TestResult[] = [];
  for (const file of files) {
    const tests = await readTests(file).catch((error: unknown) => {
      if (!(error instanceof TestFileError)) throw error;
      terminal.err.write(`${error.message}\n`);
      return undefined;
    });
    if (tests === undefined) return EXIT.failed;
    for (const test of selected(tests, values["filter"] as string | undefined)) {
      const result = { file, name: test.name, failures: await failuresOf(config, test) };
      results.push(result);
      if (values["json"] !== true) terminal.out.write(resultText(result, terminal.out));
    }
  }
  const failed = results.filter(({ failures }) => failures.length > 0).length;
  if (values["json"] === true)
    terminal.out.write(`${printableJson({ passed: results.length - failed, failed, results }, undefined, 2)}\n`);
  else
    terminal.out.write(`${pluralize(results.length, "test")}, ${failed === 0 ? "all passed" : `${failed} failed`}.\n`);
  return failed === 0 && results.length > 0 ? EXIT.ok : EXIT.failed;
}

async function readTests(file: string): Promise<ConfigTest[]> {
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw new TestFileError(`sluice: cannot read ${file}: ${error.code}`);
  });
  return readTestFile(text, file);
}

function selected(tests: readonly ConfigTest[], filter: string | undefined): readonly ConfigTest[] {
  return filter === undefined ? tests : tests.filter(({ name }) => name.includes(filter));
}

async function failuresOf(config: ResolvedConfig, test: ConfigTest): Promise<string[]> {
  try {
    return await runConfigTest(config, test);
  } catch (error) {
    if (error instanceof NoIntakeError) return [error.message];
    throw error;
  }
}

function resultText({ name, failures }: TestResult, out: Output): string {
  const paint = painter(out.colour);
  if (failures.length === 0) return `${paint("green", "✓")} ${printable(name)}\n`;
  const details = failures.flatMap((failure) => failure.split("\n")).map((line) => `    ${printable(line)}\n`);
  return `${paint("red", "✗")} ${printable(name)}\n${details.join("")}`;
}
