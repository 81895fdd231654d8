import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { defineExporter, defineProcessor, duration, eachRecord, secret } from "../../../../src/plugin.js";
import { loadConfig } from "../../../../src/runtime/config/load.js";
import { Registry } from "../../../../src/runtime/config/resolve/registry.js";
import { configJsonSchema } from "../../../../src/runtime/config/schema/json-schema.js";
import { builtins } from "../../../support/builtins.js";
import { violations } from "../../../support/json-schema.js";

const project = join(import.meta.dirname, "../../../..");
const create = () => eachRecord(() => "keep");
const registry = new Registry(builtins);
const schema = configJsonSchema(registry);

/** All example configs, and all YAML of the documentation that loads without a problem. */
const configs = ["config", "docs"].flatMap((folder) =>
  readdirSync(join(project, folder), { recursive: true, encoding: "utf8" }).flatMap((file) => {
    if (!/\.(yaml|md)$/.test(file)) return [];
    const text = readFileSync(join(project, folder, file), "utf8");
    if (file.endsWith(".yaml")) return folder === "config" ? [{ name: file, text }] : [];
    const blocks = [...text.matchAll(/^```yaml\n(.*?)^```$/gms)].map((match) => match[1]!);
    return blocks.map((block, i) => ({ name: `${file} ${i}`, text: block }));
  }),
);
const valid = configs.filter(
  ({ name, text }) =>
    name.endsWith(".yaml") || loadConfig({ sources: [{ text, name }], registry }).config !== undefined,
);

const around = (section: string) => `${section}\nservice: {pipelines: {logs: {receivers: [otlp], exporters: [debug]}}}`;
const wrong = (section: string, json = schema) =>
  violations(parse(section.startsWith("service") ? section : around(section)), json);

interface KeySchema {
  readonly description?: string;
  readonly $ref?: string;
}

/** Whether an editor finds a text for the key: beside its reference, if it is one, or where that leads. */
function isDescribed({ description, $ref }: KeySchema): boolean {
  if (description !== undefined || $ref === undefined) return Boolean(description);
  const target = $ref.slice(2).split("/");
  return isDescribed(target.reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], schema) as KeySchema);
}

/** Keys of maps, at any depth, without a text. */
function undescribedKeys(json: unknown, path = ""): string[] {
  if (typeof json !== "object" || json === null) return [];
  const { properties = {} } = json as { properties?: Record<string, KeySchema> };
  const own = Object.entries(properties).filter(([, key]) => !isDescribed(key));
  const inner = Object.entries(json).flatMap(([name, value]) => undescribedKeys(value, `${path}/${name}`));
  return [...own.map(([name]) => `${path}/${name}`), ...inner];
}

function wordsBesideRefs(json: unknown): string[] {
  if (typeof json !== "object" || json === null) return [];
  const { $ref, ...rest } = json as KeySchema;
  const own = typeof $ref === "string" ? Object.keys(rest) : [];
  return [...own, ...Object.values(json).flatMap(wordsBesideRefs)];
}

describe("the JSON Schema of a config", () => {
  it("is the one that is shipped", () => {
    const shipped = JSON.parse(readFileSync(join(project, "dist/sluice.schema.json"), "utf8"));
    expect(shipped).toEqual(JSON.parse(JSON.stringify(schema)));
  });

  it("shares its definitions, so that editors read it quickly", () => {
    expect(statSync(join(project, "dist/sluice.schema.json")).size).toBeLessThan(600_000);
  });

  it("has nothing but annotations beside references, which validators of draft 7 do not look at", () => {
    expect(wordsBesideRefs(schema).filter((word) => !/^(description|default|deprecated)$/.test(word))).toEqual([]);
  });

  it("says of every key what it is for, where an editor looks for it", () => {
    const { if: _, else: _else, ...whole } = schema;
    expect(undescribedKeys(whole)).toEqual([]);
  });

  it("is checked with examples", () => {
    expect(valid.length).toBeGreaterThan(5);
  });

  it.each(valid.map(({ name, text }) => [name, text]))("takes %s", (_name, text) => {
    expect(violations(parse(text), schema)).toEqual([]);
  });

  it.each(readdirSync(join(project, "config")))("is named by config/%s", (file) => {
    const [line] = readFileSync(join(project, "config", file), "utf8").split("\n");
    expect(line).toBe("# yaml-language-server: $schema=../dist/sluice.schema.json");
  });

  it.each([
    ["an unknown section", "reciever: {}", [".reciever: unknown"]],
    ["an unknown key", "receivers: {otlp: {protocls: }}", [".receivers.otlp.protocls: unknown"]],
    [
      "an unknown key of a named component",
      "processors: {batch/2: {tmeout: 1s}}",
      [".processors.batch/2.tmeout: unknown"],
    ],
    [
      "a duration that is none",
      "processors: {batch: {timeout: soon}}",
      [expect.stringContaining("timeout: does not match")],
    ],
    [
      "a number that is too small",
      "exporters: {debug: {sending_queue: {num_consumers: -1}}}",
      [".exporters.debug.sending_queue.num_consumers: out of range"],
    ],
    [
      "a text for a number",
      "exporters: {debug: {sending_queue: {num_consumers: many}}}",
      [expect.stringContaining("num_consumers: does not match")],
    ],
    ["a word that is none", "exporters: {debug: {verbosity: loud}}", [".exporters.debug.verbosity: none of anyOf"]],
    ["a word for a section", "processors: {batch: much}", [expect.stringContaining("batch: does not match")]],
    [
      "a common key of exporters",
      "exporters: {debug: {retry_on_failure: {enabeld: true}}}",
      [".exporters.debug.retry_on_failure.enabeld: unknown"],
    ],
    [
      "a component of an unknown type",
      "exporters: {debug: , otlphtp/2: }",
      [expect.stringMatching(/^\.exporters\.otlphtp\/2: does not match/)],
    ],
    ["an unknown pipeline", "service: {pipelines: {spans: {}}}", [".service.pipelines.spans: unknown"]],
  ])("finds %s", (_what, section, expected) => {
    const text = section.startsWith("service") ? section : around(section);
    expect(violations(parse(text), schema)).toEqual(expect.arrayContaining(expected));
  });

  it.each([
    ["a number for a text", "receivers: {otlp: {protocols: {http: {endpoint: 4318}}}}"],
    ["a variable for a number", `processors: {batch: {send_batch_size: "\${env:SIZE}"}}`],
    ["an empty section", "receivers: {otlp: {protocols: {grpc: , http: }}}"],
    ["another spelling of a type", "exporters: {otlphttp: {endpoint: http://a}}"],
    ["a word in another case", "exporters: {debug: {verbosity: Detailed}}"],
    ["a word in another case, in a list", "processors: {filter: {log_conditions: [{error_mode: IGNORE}]}}"],
    ["no word where that is one", 'exporters: {otlp_http: {endpoint: "http://a", compression: ""}}'],
    ["a word of the Collector's", "service: {telemetry: {logs: {level: WARNING}}, pipelines: {}}"],
    ["nothing behind a key that may be left out", "processors: {batch: {timeout: , send_batch_size: }}"],
    ["a variable in the old way", "processors: {batch: {send_batch_size: $SIZE, timeout: $TIMEOUT}}"],
    ["a variable for a component", `processors: {batch: "\${env:BATCH}"}`],
    ["a variable for a section", `processors: "\${env:PROCESSORS}"\nplugins: "\${env:PLUGINS}"`],
    ["a variable for a list", `processors: {filter: {log_conditions: "\${env:CONDITIONS}"}}`],
    ["a variable for pipelines", `service: {pipelines: "\${env:PIPELINES}"}`],
    ["a variable for a pipeline", `service: {pipelines: {logs: "\${env:PIPELINE}"}}`],
    ["a variable for a pipeline's list", `service: {pipelines: {logs: {receivers: "\${env:IDS}"}}}`],
    ["types that do nothing", "extensions: {file_storage/a: {directory: /x}, pprof: }"],
    ["days and weeks", "exporters: {debug: {dead_letter: {retention: 30d, keep_deleted: 1w2d}}}"],
    ["a list of headers", "exporters: {otlp_http: {endpoint: http://a, headers: [{name: a, value: b}]}}"],
    ["a type of some plugin", "processors: {mine: {anything: 1}}\nplugins: [./mine.js]"],
  ])("takes %s", (_what, section) => {
    expect(wrong(section)).toEqual([]);
  });

  it("knows the components of plugins with any schema", () => {
    const schema = z.strictObject({ wait: duration().default(5), token: secret() });
    const standard = { "~standard": { version: 1, vendor: "x", validate: (value: unknown) => ({ value }) } } as const;
    const registry = new Registry([
      ...builtins,
      defineProcessor({ type: "strict", schema, create }),
      defineProcessor({ type: "loose", create }),
      defineProcessor({ type: "other", schema: standard, create }),
      defineExporter({ type: "mine", schema, create: () => ({ send: async () => undefined }) }),
    ]);
    const json = configJsonSchema(registry);
    expect(wrong("processors: {strict: {token: a, wait: 5s}, loose: {a: 1}, other: {b: 2}}", json)).toEqual([]);
    expect(wrong("processors: {strict: {wait: 5s}}", json)).toEqual([".processors.strict.token: missing"]);
    expect(wrong("exporters: {mine: {token: a, timeout: 3s, tiemout: 3s}}", json)).toEqual([
      ".exporters.mine.tiemout: unknown",
    ]);
  });
});
