import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import {
  compileConditions,
  compileStatements,
  isOttlError,
  isOttlSyntaxError,
  type OttlSyntaxError,
  ottlText,
} from "../src/ottl.js";
import { Batch, batchFromJson, defineProcessor, eachBatch } from "../src/plugin.js";
import { loadConfig } from "../src/runtime/config/load.js";
import { Registry } from "../src/runtime/config/resolve/registry.js";
import { noMetrics, silentLogger } from "../src/runtime/contract/observability.js";
import { FakeClock, logs, plainRecords, runPipeline } from "../src/testing.js";
import { builtins } from "./support/builtins.js";
import { installSluice } from "./support/installed.js";

const errors = 'log.attributes["level"] == "error"';
const mixed = logs(
  { body: "a", attributes: { level: "error" } },
  { body: "b", attributes: { level: "info" } },
  { body: "c" },
);
const bodies = (batch: Batch) => plainRecords(batch).map(({ body }) => body);

function syntaxError(compile: () => unknown): OttlSyntaxError {
  try {
    compile();
  } catch (error) {
    if (isOttlSyntaxError(error)) return error;
    throw error;
  }
  throw new Error("it compiles");
}

it("a failure on a record gathers no stack, which would cost more than the record", () => {
  const { stackTraceLimit } = Error;
  const failing = compileStatements("logs", "set(log.body, Len(log.severity_number))");
  let thrown: unknown;
  try {
    failing.apply(mixed);
  } catch (error) {
    thrown = error;
  }
  expect(isOttlError(thrown)).toBe(true);
  expect((thrown as Error).stack).not.toMatch(/^\s+at /m);
  expect(Error.stackTraceLimit).toBe(stackTraceLimit);
});

describe("compileConditions", () => {
  it("keeps, drops and finds what a condition holds for", () => {
    const condition = compileConditions("logs", errors);
    expect(condition.context).toBe("log");
    expect(bodies(condition.keep(mixed))).toEqual(["a"]);
    expect(bodies(condition.drop(mixed))).toEqual(["b", "c"]);
    expect(condition.any(mixed)).toBe(true);
    expect(condition.any(logs("quiet"))).toBe(false);
  });

  it("takes several, of which any may hold", () => {
    const condition = compileConditions("logs", [errors, 'log.body == "c"']);
    expect(bodies(condition.keep(mixed))).toEqual(["a", "c"]);
  });

  it("passes the same batch on when all of it stays, and an empty one when nothing does", () => {
    const condition = compileConditions("logs", 'log.body == "never"');
    expect(condition.drop(mixed)).toBe(mixed);
    expect(condition.keep(mixed).count).toBe(0);
  });

  it("drops nothing and keeps nothing without a text", () => {
    const condition = compileConditions("logs", []);
    expect(condition.drop(mixed)).toBe(mixed);
    expect(condition.keep(mixed).count).toBe(0);
    expect(condition.any(mixed)).toBe(false);
  });

  it("reads paths in the context it is told", () => {
    const condition = compileConditions("logs", 'attributes["level"] == "info"', { context: "log" });
    expect(bodies(condition.keep(mixed))).toEqual(["b"]);
  });

  it("points at the place of a mistake, by line and column too", () => {
    const error = syntaxError(() => compileConditions("logs", 'log.body == "a" and\n  log.atributes["x"] == 1'));
    expect(error).toMatchObject({ code: "SLUICE_OTTL_SYNTAX", line: 2, column: 3, suggestion: expect.any(String) });
    const [reason, excerpt, carets] = error.message.split("\n");
    expect(reason).toContain(error.reason);
    expect(reason).toContain("attributes");
    expect(excerpt).toBe('  log.atributes["x"] == 1');
    expect(carets).toMatch(/^ {2}\^+$/);
  });

  it("asks which path is meant where nothing tells", () => {
    expect(syntaxError(() => compileConditions("logs", 'attributes["a"] == 1')).reason).toContain('"log.attributes"');
  });

  it("refuses batches of another signal, unknown contexts, signals and modes, and what is no text", () => {
    const condition = compileConditions("logs", 'resource.attributes["a"] == 1');
    expect(() => condition.any(Batch.empty("traces"))).toThrow("compiled for logs, and given a batch of traces");
    expect(() => compileConditions("logs", errors, { context: "span" })).toThrow('logs have no context "span"');
    expect(() => compileConditions("events" as "logs", errors)).toThrow('there is no signal "events"');
    expect(() => compileConditions("logs", errors, { errorMode: "quiet" as "silent" })).toThrow('errorMode "quiet"');
    expect(() => compileConditions("logs", [7 as unknown as string])).toThrow("conditions must be texts");
  });
});

describe("compileStatements", () => {
  it("edits the records that its where holds for, and leaves the given batch alone", () => {
    const statements = compileStatements("logs", [`set(log.body, "edited") where ${errors}`]);
    expect(bodies(statements.apply(mixed))).toEqual(["edited", "b", "c"]);
    expect(bodies(mixed)).toEqual(["a", "b", "c"]);
  });

  it("passes the same batch on when nothing changes", () => {
    const statements = compileStatements("logs", 'set(log.body, "edited") where log.body == "never"');
    expect(statements.apply(mixed)).toBe(mixed);
  });

  it("edits what surrounds records, of any signal", () => {
    const spans = batchFromJson("traces", '{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"s"}]}]}]}');
    const statements = compileStatements("traces", 'set(resource.attributes["env"], "prod")');
    expect(statements.context).toBe("resource");
    expect(plainRecords(statements.apply(spans))[0]?.resource).toEqual({ env: "prod" });
  });
});

describe("a text that fails on a record", () => {
  const failing = 'set(log.attributes["n"], Int(ParseJSON(log.body)["n"]))';
  const batch = logs({ body: "no JSON" }, { body: '{"n": 7}' });

  it("throws unless told otherwise, and the batch stays as it was", () => {
    const statements = compileStatements("logs", failing);
    expect(() => statements.apply(batch)).toThrow(expect.objectContaining({ code: "SLUICE_OTTL" }));
    expect(bodies(batch)).toEqual(["no JSON", '{"n": 7}']);
  });

  it("is passed over in silence", () => {
    const edited = compileStatements("logs", failing, { errorMode: "silent" }).apply(batch);
    expect(plainRecords(edited).map(({ attributes }) => attributes)).toEqual([{}, { n: 7 }]);
  });

  it("is logged and counted, once in ten seconds", () => {
    const lines: object[] = [];
    let counted = 0;
    const component = {
      logger: { ...silentLogger, warn: (fields: object) => lines.push(fields) },
      metrics: { ...noMetrics, counter: () => ({ add: (n: number) => (counted += n) }) },
      clock: new FakeClock(),
    };
    const statements = compileStatements("logs", failing, { errorMode: "ignore", component });
    for (let i = 0; i < 3; i++) statements.apply(batch);
    expect(counted).toBe(3);
    expect(lines).toEqual([expect.objectContaining({ failed: failing })]);
  });

  it("cannot be logged by nobody", () => {
    expect(() => compileConditions("logs", errors, { errorMode: "ignore" })).toThrow("as component");
  });
});

describe("ottlText", () => {
  const keepWhere = defineProcessor({
    type: "keep_where",
    signals: ["logs"],
    schema: z.strictObject({ when: ottlText((text) => compileConditions("logs", text)) }),
    create: ({ when }, component) => {
      const condition = compileConditions("logs", when, { errorMode: "ignore", component });
      return eachBatch((batch) => {
        const kept = condition.keep(batch);
        return kept.count === 0 ? null : kept;
      });
    },
  });
  const config = (when: string) => `
processors:
  keep_where:
    when: ${when}
service: {pipelines: {logs: {receivers: [memory], processors: [keep_where], exporters: [memory]}}}
`;

  it("gives a component its condition as text", async () => {
    const pipeline = await runPipeline(config(errors), { plugins: [keepWhere] });
    expect((await pipeline.send(mixed)).ok).toBe(true);
    expect(pipeline.records().map(({ body }) => body)).toEqual(["a"]);
    await pipeline.stop();
  });

  it("makes a mistake a problem of the config, at its line and column", () => {
    const registry = new Registry([...builtins, keepWhere]);
    const text = config('log.atributes["level"] == "error"');
    const { problems } = loadConfig({ sources: [{ text, name: "config.yaml" }], registry });
    const problem = problems.find(({ path }) => path === "processors.keep_where.when");
    expect(problem).toMatchObject({ severity: "error", place: { line: 4, column: 11 } });
    expect(problem?.message).not.toContain("^");
  });
});

describe("docs/how-to/ottl.md", () => {
  const page = readFileSync(join(import.meta.dirname, "../docs/how-to/ottl.md"), "utf8");
  const [, text] = /^```js\n(.*?)^```$/ms.exec(page) ?? [];
  const folder = mkdtempSync(join(tmpdir(), "sluice-ottl-docs-"));
  beforeAll(() => installSluice(folder));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("has a plugin that works", { timeout: 60_000 }, async () => {
    writeFileSync(join(folder, "quarantine.mjs"), text!);
    writeFileSync(join(folder, "try.mjs"), TRY);
    const { stdout } = await promisify(execFile)(process.execPath, ["try.mjs"], { cwd: folder });
    expect(JSON.parse(stdout)).toEqual({ ok: true, bodies: ["fine"], deadLetters: 1 });
  });
});

const TRY = `
import { logs, runPipeline } from "sluice/testing";
import quarantine from "./quarantine.mjs";
const config = \`
processors:
  quarantine:
    when: log.attributes["tenant"] == nil
service: {pipelines: {logs: {receivers: [memory], processors: [quarantine], exporters: [memory]}}}
\`;
const pipeline = await runPipeline(config, { plugins: [quarantine], queue: "memory" });
const { ok } = await pipeline.send(logs({ body: "fine", attributes: { tenant: "acme" } }, { body: "whose?" }));
const deadLetters = (await pipeline.deadLetters()).length;
await pipeline.stop();
const bodies = pipeline.records().map(({ body }) => body);
console.log(JSON.stringify({ ok, bodies, deadLetters }));
`;
