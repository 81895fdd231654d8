import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { type ConfigSource, loadConfig } from "../../../src/runtime/config/load.js";
import { Registry } from "../../../src/runtime/host/registry.js";
import { builtins } from "../../support/builtins.js";

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
