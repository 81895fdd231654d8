import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { isGroup } from "../../src/agent/cli/command.js";
import { findCommand } from "../../src/agent/cli/commands.js";
import { commonFiles } from "../../src/agent/cli/create/files.js";
import { parseArguments } from "../../src/agent/cli/parse-arguments.js";
import { loadConfig } from "../../src/runtime/config/load.js";
import { Registry } from "../../src/runtime/config/resolve/registry.js";
import { builtins } from "../support/builtins.js";
import { installSluice } from "../support/installed.js";
import { temporaryFolder } from "../support/temporary-folder.js";
import { type Block, blocks, project } from "./pages.js";
import { GENERATED, TABLE } from "./table.js";

/** Tests the blocks of README and all pages of docs/. table.ts adds tests of single pages. */

const isRun = ({ page, language }: Block) =>
  TABLE.some((row) => row.page === page && row.runs?.includes(language) === true);
const inLanguage = (language: string) => blocks.filter((block) => block.language === language);
const named = (wanted: readonly Block[]) => wanted.map((block) => [`${block.page}:${block.line}`, block] as const);

describe("a config in README or docs/", () => {
  it.each(named(inLanguage("yaml").filter((block) => !isRun(block))))("loads: %s", (_, { text }) => {
    const env = Object.fromEntries([...text.matchAll(/\$\{env:(\w+)\}/g)].map(([, name]) => [name, SECRET]));
    const folder = text.includes("schemas") ? folderOfSchemas() : project;
    const sources = [restOf(text), text].map((each, i) => ({ text: each, name: `${i}.yaml`, folder }));
    const { problems } = loadConfig({ sources, env, registry: new Registry(builtins), addDefaults: true });
    expect(problems.filter(({ message }) => !NEEDS_KAFKA_CLIENT.test(message))).toEqual([]);
  });

  /** The client library of Kafka is not there for every test. */
  const NEEDS_KAFKA_CLIENT = /^the package @platformatic\/kafka\S* is missing/;
  /** Long enough for any key. */
  const SECRET = "s".repeat(64);

  function folderOfSchemas(): string {
    const folder = temporaryFolder();
    mkdirSync(join(folder, "schemas"));
    writeFileSync(
      join(folder, "schemas/1.27.0.yaml"),
      "file_format: 1.1.0\nschema_url: https://opentelemetry.io/schemas/1.27.0\nversions: {1.27.0: , 1.26.0: }\n",
    );
    return folder;
  }

  /**
   * Adds the missing parts of a config: receivers and exporters, and pipelines of a signal that the processors take.
   */
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

describe("JSON in README or docs/", () => {
  it.each(named(inLanguage("json")))("parses: %s", (_, { text }) => {
    expect(() => JSON.parse(text)).not.toThrow();
  });
});

describe("TypeScript in README or docs/", () => {
  const code = inLanguage("ts").filter(({ page }) => !GENERATED.includes(page));

  it("type-checks", async () => {
    const folder = temporaryFolder();
    installSluice(folder);
    const files = code.map((block, i) => {
      const name = block.file ?? `block-${i}.${block.language}`;
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

describe("a command in README or docs/", () => {
  const { scripts } = JSON.parse(readFileSync(join(project, "package.json"), "utf8")) as { scripts: object };

  /** Every line of the shell blocks and sessions, without its prompt and its note. */
  const lines = [...inLanguage("sh"), ...inLanguage("text")].flatMap(({ page, text }) =>
    text.split("\n").map((line) => ({
      page,
      line: line
        .replace(/^\$ /, "")
        .replace(/\s+# .*$/, "")
        .trim(),
    })),
  );
  const beginning = (word: RegExp) => lines.filter(({ line }) => word.test(line)).map(({ page, line }) => [line, page]);

  it.each(beginning(/^(sluice|node bin\/sluice\.js) /))("is one that Sluice understands: %s (%s)", (line) => {
    const [name, ...args] = line!
      .replace(/ > \S+$/, "")
      .replace(/^(sluice|node bin\/sluice\.js) /, "")
      .match(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g)!;
    const found = findCommand(name!);
    const isMember = found !== undefined && isGroup(found);
    const command = isMember ? found.commands.find((each) => each.name === `${name} ${args[0]}`) : found;
    if (command === undefined || isGroup(command)) throw new Error(`there is no command ${name} ${args[0]}`);
    const { names } = parseArguments(command, isMember ? args.slice(1) : args);
    if (command.names === undefined) expect(names).toEqual([]);
  });

  it.each(beginning(/^npm run /))("is a script of package.json, here or in a created package: %s (%s)", (line) => {
    const created = commonFiles({ kind: "processor", name: "a", type: "a", folder: project })["package.json"]!;
    const own = JSON.parse(created) as { scripts: Record<string, string> };
    expect(Object.keys({ ...scripts, ...own.scripts })).toContain(line!.split(" ")[2]);
  });
});
