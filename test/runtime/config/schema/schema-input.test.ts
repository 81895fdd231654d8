// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the config language is written with ${}
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { EMPTY } from "rxjs";
import { afterAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { type ConfigSource, loadConfig } from "../../../../src/runtime/config/load.js";
import { Registry } from "../../../../src/runtime/config/resolve/registry.js";
import { defineProcessor } from "../../../../src/runtime/contract/define.js";
import { builtins } from "../../../support/builtins.js";
import { fakes } from "../fakes.js";
import { brief, GOOD, loadText, withExporter } from "../load-text.js";

const folder = mkdtempSync(join(tmpdir(), "sluice-config-files-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function written(name: string, text: string): string {
  const path = join(folder, name);
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, text);
  return path;
}

const SCHEMA = "file_format: 1.1.0\nschema_url: https://example.com/schemas/1.1.0\nversions: {1.1.0: , 1.0.0: }\n";
const PIPELINE = `receivers: {otlp: {protocols: {grpc: }}}
exporters: {debug: }
service: {pipelines: {logs: {receivers: [otlp], processors: [pii, versioning], exporters: [debug]}}}
`;
const CONFIG = `${PIPELINE}processors:
  pii: {strategy: hash, hash_key_file: secrets/key}
  versioning: {schemas: [./schemas/1.1.0.yaml]}
`;
written("agent/schemas/1.1.0.yaml", SCHEMA);
written("agent/secrets/key", "0123456789abcdef0123456789abcdef");
const file = written("agent/config.yaml", CONFIG);
const text = (config: string) => ({ text: config, name: "c.yaml" });

function problemsOf(sources: readonly ConfigSource[], sets: readonly string[] = []) {
  return loadConfig({ sources, sets, registry: new Registry(builtins) }).problems.map(({ path }) => path);
}

describe("files that belong to a config", () => {
  it("are found from the folder of the config, wherever the agent runs", () => {
    expect(problemsOf([{ file }])).toEqual([]);
    expect(problemsOf([{ file: relative(process.cwd(), file) }])).toEqual([]);
    expect(problemsOf([{ ...text(CONFIG), folder: join(folder, "agent") }])).toEqual([]);
    const listInText = CONFIG.replace("[./schemas/1.1.0.yaml]", "./schemas/1.1.0.yaml");
    expect(problemsOf([{ ...text(listInText), folder: join(folder, "agent") }])).toEqual([]);
  });

  it("are found from the folder of the very file that names them", () => {
    const base = written("base/config.yaml", PIPELINE);
    const names = written("agent/more.yaml", CONFIG.slice(PIPELINE.length));
    expect(problemsOf([{ file: base }, { file: names }])).toEqual([]);
  });

  it("are found from the working directory when the config comes from no file", () => {
    expect(problemsOf([text(CONFIG)])).toEqual(["processors.pii.hash_key_file", "processors.versioning.schemas.0"]);
    const here = relative(process.cwd(), join(folder, "agent"));
    const fromHere = CONFIG.replace("secrets/", `${here}/secrets/`).replace("./schemas/", `${here}/schemas/`);
    expect(problemsOf([text(fromHere)])).toEqual([]);
    expect(problemsOf([{ file }], [`processors.pii.hash_key_file=${here}/secrets/key`])).toEqual([]);
  });

  it("may be named by absolute paths", () => {
    const absolute = written("elsewhere.yaml", CONFIG.replaceAll(/\.?\/?(schemas|secrets)\//g, `${folder}/agent/$1/`));
    expect(problemsOf([{ file: absolute }])).toEqual([]);
  });
});

describe("what a schema is given", () => {
  it("gives string fields the written text, not YAML's interpretation", () => {
    const text = withExporter(
      "otlphttp",
      'endpoint: 0123\nheaders: {a: 1.10, b: true, c: "${env:N}", d: "x${env:N}", e: }',
    );
    expect(loadText(text, { env: { N: "007" } }).config?.exporters.get("otlphttp")?.config).toMatchObject({
      endpoint: "0123",
      headers: { a: "1.10", b: "true", c: "007", d: "x007", e: "" },
    });
  });

  it("gives other fields what YAML makes of a variable", () => {
    const text = withExporter(
      "debug",
      "verbosity: ${env:V}\nsending_queue: {enabled: '${env:B}', queue_size: '${env:N}'}\ntimeout: ${env:D}",
    );
    const { config } = loadText(text, { env: { V: "DETAILED", B: "false", N: "7", D: "90s" } });
    expect(config?.exporters.get("debug")).toMatchObject({
      config: { verbosity: "detailed" },
      settings: { timeout: 90_000, sending_queue: { enabled: false, queue_size: 7 } },
    });
  });

  it("uses the default of a field whose variable is not set", () => {
    const text = withExporter("debug", "verbosity: ${env:NOPE}\nsending_queue: {queue_size: '${env:NOPE}'}");
    const { config, problems } = loadText(text);
    expect(config?.exporters.get("debug")).toMatchObject({
      config: { verbosity: "basic" },
      settings: { sending_queue: {} },
    });
    expect(problems.map(brief)).toEqual([
      "warning unset_variable 5:16 exporters.debug.verbosity",
      "warning unset_variable 6:33 exporters.debug.sending_queue.queue_size",
    ]);
  });

  describe("a text where a list of strings stands", () => {
    const listed = defineProcessor({
      type: "listed",
      summary: "Takes lists.",
      signals: ["logs"],
      schema: z.strictObject({
        names: z.array(z.string().min(1)).optional(),
        words: z.array(z.enum(["cpu", "disk"])).optional(),
        numbers: z.array(z.number()).optional(),
        phrases: z.array(z.string().meta({ secret: true })).optional(),
        either: z.union([z.string(), z.array(z.string())]).optional(),
      }),
      create: () => () => EMPTY,
    });
    const registry = new Registry([...fakes, listed]);
    const load = (settings: string) =>
      loadText(GOOD.replaceAll("batch", "listed").replace("listed:", `listed: ${settings}`), {
        registry,
        env: { HOSTS: "a:1, b:2", NUMBER: "17" },
      });
    const read = (settings: string) => load(settings).config?.processors.get("listed")?.config;

    it("is divided at its commas", () => {
      expect(read('{names: "http://a:9200", words: "disk,cpu"}')).toEqual({
        names: ["http://a:9200"],
        words: ["disk", "cpu"],
      });
      expect(read('{names: "${env:HOSTS}"}')).toEqual({ names: ["a:1", "b:2"] });
      expect(read('{names: "${env:NUMBER}"}')).toEqual({ names: ["17"] });
      expect(read('{names: "", either: "a,b"}')).toEqual({ names: [], either: "a,b" });
    });

    it.each(["{names: 17}", '{words: "disk,memory"}', '{names: "a,,b"}', '{numbers: "1,2"}', "{names: true}"])(
      "is refused as no list in %s",
      (settings) => {
        expect(load(settings).problems.map(({ message }) => message)).toEqual([
          expect.stringContaining("expected a list, got"),
        ]);
      },
    );

    it("is hidden when the items are secret", () => {
      const config = load('{numbers: 1, phrases: "tok-1,tok-2"}');
      expect(JSON.stringify(config.problems)).not.toContain("tok-1");
      const wrong = load("{phrases: 5551234}");
      expect(JSON.stringify(wrong.problems.map(({ message, suggestion }) => [message, suggestion]))).not.toContain(
        "5551234",
      );
    });
  });

  it("keeps or leaves out an optional section by its key enabled", () => {
    const registry = new Registry(builtins);
    const load = (http: string, grpc: string) => {
      const receiver = `receivers: {otlp: {protocols: {http: ${http}, grpc: ${grpc}}}}`;
      const exporter = "otlp: {endpoint: 'h:1', keepalive: {enabled: true, time: 7s}, auth: {enabled: false}}";
      const pipeline = "service: {pipelines: {logs: {receivers: [otlp], exporters: [otlp]}}}";
      return loadText(`${receiver}\nexporters: {${exporter}}\n${pipeline}`, { registry });
    };
    const { config, problems } = load("{enabled: true, cors: {enabled: false}}", "{enabled: false}");
    expect(problems).toEqual([]);
    const receiver = config?.receivers.get("otlp")?.config;
    expect(receiver).toMatchObject({ protocols: { http: {} } });
    expect(receiver).not.toHaveProperty("protocols.grpc");
    expect(receiver).not.toHaveProperty("protocols.http.cors");
    const otlp = config?.exporters.get("otlp")?.config;
    expect(otlp).toMatchObject({ keepalive: { time: 7000 } });
    expect(otlp).not.toHaveProperty("auth");
    expect(load("{}", "{tls: {enabled: 1}}").problems.map(brief)).toEqual([
      "error unknown_key 1:55 receivers.otlp.protocols.grpc.tls.enabled",
    ]);
  });

  it("reads a map by the alternative that it fits", () => {
    const alternatives = defineProcessor({
      type: "either",
      summary: "Takes one of two forms.",
      signals: ["logs"],
      schema: z.strictObject({
        limit: z.union([
          z.strictObject({ count: z.number(), unit: z.string() }),
          z.strictObject({ count: z.string(), words: z.array(z.string()) }),
        ]),
      }),
      create: () => () => EMPTY,
    });
    const registry = new Registry([...fakes, alternatives]);
    const limit = (text: string) => {
      const config = GOOD.replaceAll("batch", "either").replace("either:", `either: {limit: ${text}}`);
      return loadText(config, { registry }).config?.processors.get("either")?.config;
    };
    expect(limit("{count: 10, unit: 5}")).toEqual({ limit: { count: 10, unit: "5" } });
    expect(limit("{count: 010, words: [1.10]}")).toEqual({ limit: { count: "010", words: ["1.10"] } });
  });
});
