import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { loadConfig } from "../../../src/runtime/config/load.js";
import { Registry } from "../../../src/runtime/config/resolve/registry.js";
import { Batch } from "../../../src/runtime/otlp/batch.js";
import { batchFromJson } from "../../../src/runtime/otlp/json/batch-json.js";
import { compileConditions, compileStatements } from "../../../src/runtime/ottl/compile/plugin-ottl.js";
import { isOttlError, isOttlSyntaxError } from "../../../src/runtime/ottl/values/error.js";
import { builtins } from "../../support/builtins.js";
import { assert, type FuzzTarget, magnitude, shapeOf } from "../fuzz.js";
import { textMutator } from "../mutate-text.js";
import { richJson } from "./rich-json.js";

const STATEMENTS = [
  'set(log.attributes["a"], Concat([log.body, "x"], "-")) where IsString(log.body) and log.severity_number >= SEVERITY_NUMBER_INFO',
  'replace_all_patterns(log.attributes, "value", "(a+)+b", "$$1") where not IsMatch(log.body, "^x.*")',
  'merge_maps(log.attributes, ParseJSON("{\\"k\\": [1, 2.5, null]}"), "upsert")',
  'set(log.attributes["n"], (Int("12") + 3) * 2 - Len(log.attributes["list"]) / 2)',
  'keep_matching_keys(log.attributes, "t.*") or delete_key(resource.attributes, "text")',
  'set(log.time, Time("2024-02-29 10:00", "%Y-%m-%d %H:%M", "Europe/Berlin") + Duration("1h"))',
  'set(log.body, ExtractGrokPatterns(log.body["inner"], "%{WORD:w} %{INT:i}", true))',
  "limit(log.attributes, 2, []) flatten(log.attributes) truncate_all(log.attributes, 3)",
];
const OTTL_WORDS = [
  ..."()[]{},.=+-*/<>!$",
  ...[
    "==",
    "!=",
    "<=",
    ">=",
    "and",
    "or",
    "not",
    "where",
    "nil",
    "true",
    "false",
    '""',
    "0x1f",
    "log.",
    "resource.",
    "log.body",
  ],
  ...[
    "Split(",
    "SHA256(",
    "ParseKeyValue(",
    "ParseCSV(",
    "Substring(",
    "Format(",
    "Hex(",
    "Sort(",
    "ToCamelCase(",
    "ParseXML(",
  ],
];
const sample = batchFromJson("logs", richJson("logs"));

const configs = join(import.meta.dirname, "../../../config");
const CONFIGS = readdirSync(configs).map((name) => readFileSync(join(configs, name)));
const YAML_WORDS = [
  ...[
    ": ",
    "- ",
    "\n",
    "\n  ",
    "\n    ",
    "{",
    "}",
    "[",
    "]",
    "&a ",
    "*a",
    "<<: ",
    "!!binary ",
    "|\n",
    ">-\n",
    "? ",
    "#",
    "---\n",
  ],
  ...["$$", "receivers:", "service:", "pipelines:", "logs/2:", "10s", "1MiB", "null", "~"],
];
for (const name of ["env:X", "file:/x", "env:X:-1", "yaml:a"]) YAML_WORDS.push(`$\{${name}}`);
const registry = new Registry(builtins);

/** Texts that people write: configs, and OTTL in them. */
export const languageTargets: readonly FuzzTarget[] = [
  {
    name: "OTTL",
    share: 5,
    seeds: STATEMENTS.map((text) => Buffer.from(text)),
    mutate: textMutator(OTTL_WORDS),
    run: (input) => runOttl(input.toString("utf8")),
  },
  {
    name: "config",
    share: 0.2,
    seeds: CONFIGS,
    mutate: textMutator(YAML_WORDS),
    run: (input) => runConfig(input.toString("utf8")),
  },
];

/** It compiles or says where it does not; what it makes of a batch is a batch again. */
function runOttl(text: string): string {
  try {
    const changed = compileStatements("logs", text, { context: "log" }).apply(sample);
    assert(changed.byteLength < 1_000_000, "a statement made a batch many times as large");
    assert(Batch.admit("logs", changed.bytes).count === changed.count, "the batch has other records than it says");
    return `applied ${magnitude(changed.byteLength)}`;
  } catch (error) {
    if (isOttlError(error)) return `failed ${shapeOf(error.message)}`;
    if (!isOttlSyntaxError(error)) throw error;
    assert(error.offset >= 0 && error.offset <= text.length, "the place of a syntax error is outside of the text");
    return `${runCondition(text)} ${shapeOf(error.reason)}`;
  }
}

function runCondition(text: string): string {
  try {
    return `condition ${compileConditions("logs", text, { context: "log" }).any(sample)}`;
  } catch (error) {
    if (!isOttlError(error) && !isOttlSyntaxError(error)) throw error;
    return "";
  }
}

/** Loading never throws, and what it says has a place in the text. */
function runConfig(text: string): string {
  const readFile = () => {
    throw Object.assign(new Error("no such file"), { code: "ENOENT" });
  };
  const { config, problems } = loadConfig({ sources: [{ text, name: "c.yaml" }], env: { X: "x" }, readFile, registry });
  const lines = text.split(/\r\n|\r|\n/).length;
  for (const { place, severity } of problems) {
    assert(place === undefined || (place.line >= 1 && place.line <= lines + 1), "a problem is outside of the text");
    assert(severity !== "error" || config === undefined, "a config with errors is given out");
  }
  assert(config !== undefined || problems.length > 0, "no config and no word why");
  return [...new Set(problems.map(({ code }) => code))].toSorted().join(" ");
}
