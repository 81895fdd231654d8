import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { loadConfig } from "../../src/runtime/config/load.js";
import { builtins } from "../../src/runtime/host/builtins.js";
import { Registry } from "../../src/runtime/host/registry.js";
import { installSluice } from "../support/installed.js";
import { type Block, blocks, indented, project } from "./pages.js";

/**
 * Every block of the README and of docs/ is tried. Here, whatever page they are on, configs are loaded, JSON is parsed,
 * TypeScript is type-checked, and the command line reads the arguments of every `sluice` command. What must run as well,
 * code, other commands and configs with plugins, is run by the test that is named here for it. That test must run them
 * all, so it is said how many there are.
 */
const RUN_BY: readonly (readonly [page: string, language: string, count: number, test: string])[] = [
  ["README.md", "sh", 6, "test/end-to-end/readme.test.ts"],
  ["README.md", "js", 1, "test/end-to-end/readme.test.ts"],
  ["README.md", "ts", 1, "test/end-to-end/readme.test.ts"],
  ["docs/dead-letters.md", "sh", 3, "test/docs/commands.test.ts"],
  ["docs/api.md", "ts", Number.NaN, "test/docs/api-reference.test.ts"],
  ["docs/embedding.md", "js", 11, "test/runtime/embed/docs.test.ts"],
  ["docs/install.md", "sh", 4, "test/packaging/deployment.test.ts"],
  ["docs/ottl-functions.md", "ottl", Number.NaN, "test/runtime/ottl/functions.test.ts"],
  ["docs/plugins.md", "js", 8, "test/runtime/host/plugins/docs.test.ts"],
  ["docs/plugins.md", "sh", 2, "test/runtime/host/plugins/docs.test.ts"],
  ["docs/plugins.md", "yaml", 2, "test/runtime/host/plugins/docs.test.ts"],
  ["docs/rxjs-recipes.md", "js", 10, "test/docs/rxjs-recipes.test.ts"],
  ["docs/testing.md", "js", 9, "test/runtime/testing/docs.test.ts"],
  ["docs/versioning.md", "js", 1, "test/processors/versioning/docs.test.ts"],
];

/** These are only read: by people. */
const NOT_TRIED = ["text"];
/** These are tried here; all others need a test of their own. */
const TRIED_HERE = ["yaml", "json"];
/** So is a block of nothing but these commands. */
const READ_BY_US = /^(sluice|npm run) /;
/** Pages made from the code, of which nothing was written by hand. */
const GENERATED = ["docs/api.md", "docs/ottl-functions.md"];

const place = ({ page, line, language }: Block) => `${page}:${line} (${language === "" ? "no language" : language})`;
const named = (wanted: readonly Block[]) => wanted.map((block) => [place(block), block] as const);
const runBy = ({ page, language }: Block) => RUN_BY.find(([on, of]) => on === page && of === language);

const isReadByUs = ({ language, text }: Block) =>
  language === "sh" &&
  text
    .trim()
    .split("\n")
    .every((line) => READ_BY_US.test(line));

const folder = mkdtempSync(join(tmpdir(), "sluice-docs-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the blocks of README and docs/", () => {
  it("are all tried: a new one of commands or code needs a test that runs it, and a line above", () => {
    const known = [...NOT_TRIED, ...TRIED_HERE];
    const untried = blocks.filter(
      (block) => !known.includes(block.language) && !isReadByUs(block) && runBy(block) === undefined,
    );
    expect(untried.map(place)).toEqual([]);
  });

  it("are fenced, and say what language they are in", () => {
    expect(indented.filter((where) => !GENERATED.some((page) => where.startsWith(page)))).toEqual([]);
  });

  it.each(RUN_BY.filter(([page]) => !GENERATED.includes(page)))(
    "of %s in %s are the %i that its own test runs",
    (page, language, count, test) => {
      expect(blocks.filter((block) => block.page === page && block.language === language)).toHaveLength(count);
      expect(readFileSync(join(project, test), "utf8")).toContain(page.replace("docs/", ""));
    },
  );

  it("have tests that exist", () => {
    expect(RUN_BY.map(([, , , test]) => test).filter((test) => !existsSync(join(project, test)))).toEqual([]);
  });
});

describe("a config in README or docs/", () => {
  const configs = blocks.filter((block) => block.language === "yaml" && runBy(block) === undefined);
  mkdirSync(join(folder, "schemas"));
  writeFileSync(
    join(folder, "schemas/1.27.0.yaml"),
    "file_format: 1.1.0\nschema_url: https://opentelemetry.io/schemas/1.27.0\nversions: {1.27.0: , 1.26.0: }\n",
  );

  it.each(named(configs))("loads: %s", (_, { text }) => {
    const env = Object.fromEntries([...text.matchAll(/\$\{env:(\w+)\}/g)].map(([, name]) => [name, SECRET]));
    const sources = [restOf(text), text].map((each, i) => ({ text: each, name: `${i}.yaml`, folder }));
    const { problems } = loadConfig({ sources, env, registry: new Registry(builtins) });
    expect(problems).toEqual([]);
  });

  /** What a part of a config leaves out: ends, and pipelines with what it has, each of a signal that its processors take. */
  function restOf(text: string): string {
    const config = (parse(text) ?? {}) as Record<string, Record<string, unknown> | undefined>;
    if (config["service"]?.["pipelines"] !== undefined) return "{}";
    const { receivers = { otlp: {} }, processors = {}, exporters = { otlp_http: {} } } = config;
    const ids = Object.keys(processors);
    const ends = { receivers: Object.keys(receivers), exporters: Object.keys(exporters) };
    const pipelines = [...new Set(ids.length === 0 ? ["logs"] : ids.map(signalOf))].map((signal) => [
      signal,
      { ...ends, processors: ids.filter((id) => signalOf(id) === signal) },
    ]);
    return JSON.stringify({
      receivers: { otlp: { protocols: { http: null } } },
      exporters: "otlp_http" in exporters ? { otlp_http: { endpoint: "http://127.0.0.1:4318" } } : {},
      service: { pipelines: Object.fromEntries(pipelines), extensions: Object.keys(config["extensions"] ?? {}) },
    });
  }

  function signalOf(id: string): string {
    const found = new Registry(builtins).get("processor", id.split("/")[0]!);
    return found !== undefined && "signals" in found ? found.signals[0]! : "logs";
  }
});

/** Long enough for any key. */
const SECRET = "s".repeat(64);

describe("JSON in README or docs/", () => {
  it.each(named(blocks.filter(({ language }) => language === "json")))("parses: %s", (_, { text }) => {
    expect(() => JSON.parse(text)).not.toThrow();
  });
});

describe("TypeScript in README or docs/", () => {
  const code = blocks.filter(({ page, language }) => language === "ts" && !GENERATED.includes(page));

  it("type-checks", { timeout: 60_000 }, async () => {
    installSluice(folder);
    const files = code.map((block, i) => {
      const name = /^\/\/ ([\w.-]+\.[jt]s)\n/.exec(block.text)?.[1] ?? `block-${i}.${block.language}`;
      const own = block.page.replace(/\W/g, "-");
      mkdirSync(join(folder, own), { recursive: true });
      writeFileSync(join(folder, own, name), /^import /m.test(block.text) ? block.text : PRELUDE + block.text);
      return join(own, name);
    });
    const compilerOptions = {
      ...{ target: "es2022", lib: ["es2023"], module: "nodenext", types: ["node"], noEmit: true, skipLibCheck: true },
      strict: true,
    };
    writeFileSync(join(folder, "package.json"), '{"type":"module"}');
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files }));
    const tsc = [join(project, "node_modules/typescript/bin/tsc"), "-p", folder];
    const run = promisify(execFile)(process.execPath, tsc, { cwd: folder });
    expect((await run.catch((error: { stdout: string }) => error)).stdout).toBe("");
  });

  /** For a block that shows only the heart of a file. */
  const PRELUDE = 'import { defineProcessor, eachRecord } from "sluice/plugin";\nimport { z } from "zod";\n';
});
