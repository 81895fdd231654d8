/**
 * Loads every *.yaml of a folder as `sluice validate` would, and reports how many load and why the others do not.
 *
 *   npm run corpus [-- folder] [--start] [--json] [--registry module.js]
 *
 * The folder may also be named by the variable CORPUS. Configs that name a component of a vendor are counted apart from
 * ordinary ones.
 *
 * With --start each config that loads is also run until it is ready, in its own process and network, and the report
 * says which ones do not start, and why.
 *
 * Configs that the Collector refuses as well are named and counted apart: those with types that no release of it has,
 * those that name components which they do not define, and, with OTELCOL=path/to/otelcol, those that its `validate`
 * refuses for another reason than a component that this build lacks.
 *
 * Environment variables are replaced: each one without a default gets a placeholder that fits its name. The report
 * distinguishes configs with components that Sluice does not have from configs with other errors. The module given with
 * --registry has a list of component factories as its default export; without it the built-in ones are used.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { parse, stringify } from "yaml";
import { builtins } from "../dist/agent/builtins/builtins.js";
import { loadConfig } from "../dist/runtime/config/load.js";
import { adviceOnType } from "../dist/runtime/config/resolve/other-types.js";
import { Registry } from "../dist/runtime/config/resolve/registry.js";
import { hasOwnNetwork, tryStart } from "./lib/processes/try-start.js";

/** Types of components that talk to one vendor's product, in any of the Collector's sections and spellings. */
const VENDORS =
  /^\s*((google|gcp|aws|azure|alibaba|tencent|huawei|oracle|datadog|signalfx|sapm|splunk|coralogix|sumologic|dynatrace|newrelic|honeycomb|lightstep|instana|logzio|logicmonitor|mezmo|humio|f5|opsramp|sentry|stackdriver|sematext|solarwinds|tanzu|wavefront|bmc|dataset|elastic$|mackerel|grafanacloud|cloudflare|mongodbatlas|snowflake|vcenter|observiq|middleware|uptrace|kinesis|xray)[a-z0-9_]*)(\/[^:\s]*)?\s*:/gim;

/** Types in other builds of the Collector that Sluice knows by more than their names. */
const OTHER_BUILDS = new Set(["exporter mackerel_otlp"]);

const PLACEHOLDERS = [
  [/PORT$/, "4317"],
  [/(INSECURE|ENABLED?|VERIFY|DEBUG)$/, "true"],
  [/LOG.*LEVEL$/, "info"],
  [/(TIMEOUT|INTERVAL|WAIT|DELAY)$/, "5s"],
  [/(SIZE|LIMIT|COUNT|MIB|PERCENTAGE|CONSUMERS|RATE)$/, "50"],
  [/(IP|HOST|HOSTNAME|ADDR|ADDRESS)$/, "127.0.0.1"],
  [/LISTEN$/, "127.0.0.1:4317"],
  [/LISTEN_INTERFACE$/, "127.0.0.1"],
  [/HEALTH.*ENDPOINT$/, "127.0.0.1:13133"],
  [/(URL|URI|ENDPOINT)$/, "http://127.0.0.1:4318"],
  [/STORAGE.*CONNECTION_STRING$/, "AccountName=placeholder;AccountKey=a2V5"],
];

/** How the Collector says that a build lacks a type: the section, and the type. */
const UNKNOWN_TYPE = /'(\w+)' unknown type: "([^"]+)"/;

/** A pipeline for a config that is checked without its own ones. */
const ANY_PIPELINE = { traces: { receivers: ["otlp/any"], exporters: ["debug/any"] } };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: "boolean" }, registry: { type: "string" }, start: { type: "boolean" } },
});
const folder = resolve(
  positionals[0] ?? process.env.CORPUS ?? join(import.meta.dirname, "..", "..", "shared", "corpus"),
);
if (!existsSync(folder)) {
  console.error(`There is no folder ${folder}. Give one: npm run corpus -- <folder>`);
  process.exit(2);
}
const factories = values.registry
  ? (await import(pathToFileURL(resolve(values.registry)).href)).default
  : await builtins();
const registry = new Registry(factories);
const results = readdirSync(folder)
  .filter((name) => /\.ya?ml$/.test(name))
  .sort()
  .map(check);
const report = summarise(results, values.start ? await startAll(results.filter((each) => each.loads)) : undefined);
console.log(values.json ? JSON.stringify(report, undefined, 2) : asText(report));
process.exitCode = report.withProblems > 0 ? 1 : 0;

function check(name) {
  const text = readFileSync(join(folder, name), "utf8");
  const load = (env) => loadConfig({ sources: [{ text, name }], env, registry });
  const unset = load({}).problems.flatMap(unsetVariable);
  const env = Object.fromEntries(unset.map(({ variable }) => [variable, placeholder(variable)]));
  for (const variable of unset) chooseValue(variable, env, load);
  const { config, problems } = load(env);
  const errors = problems.filter((problem) => problem.severity === "error");
  const missing = errors.filter((problem) => problem.code === "unknown_component").map(componentOf);
  const real = errors.filter((problem) => problem.code !== "unknown_component");
  const isVendors = text.match(VENDORS) !== null;
  const loads = config !== undefined;
  const refusal = loads
    ? undefined
    : (refusalByType(missing) ?? refusalByReference(real) ?? refusalByCollector(name, env));
  return { name, isVendors, env, loads, missing, real, refusal };
}

/** Why no Collector takes a config with these components; undefined if one may. */
function refusalByType(missing) {
  const other = missing.find((what) => {
    const [kind, type] = what.split(" ");
    return OTHER_BUILDS.has(what) || adviceOnType(kind, type) === undefined;
  });
  return other && `no release of the Collector has the ${other}`;
}

/** Why every Collector refuses a config that is only a part of one: it names components that it does not define. */
function refusalByReference(problems) {
  return problems.find(({ code }) => code === "undefined_reference")?.message;
}

/**
 * Returns the Collector's error for a config; undefined if it has none. If this build lacks components, they and the
 * pipelines are left out, and the Collector checks the other components.
 */
function refusalByCollector(name, env) {
  const { OTELCOL: program } = process.env;
  if (!program) return undefined;
  const validate = (file) => {
    const settings = { env: { ...process.env, ...env }, encoding: "utf8", timeout: 20_000 };
    const { status, stderr } = spawnSync(program, ["validate", "--config", file], settings);
    // A file that a config names is missing on this machine, which says nothing about the config.
    return status === 0 || status === null || stderr.includes("no such file or directory") ? "" : stderr.trim();
  };
  let error = validate(join(folder, name));
  if (UNKNOWN_TYPE.test(error)) error = withScratchFile((file) => errorOfKnownTypes(name, file, validate));
  return error === "" ? undefined : error.split("\n").slice(0, 5).join(" ").slice(0, 300);
}

/** Leaves out one unknown type after the other, until the Collector's error is about another thing, or there is none. */
function errorOfKnownTypes(name, file, validate) {
  const config = parse(readFileSync(join(folder, name), "utf8"));
  config.receivers["otlp/any"] = { protocols: { http: null } };
  // Sluice takes the exporter logging, which the Collector has removed.
  for (const id of Object.keys(config.exporters)) if (/^logging(\/|$)/.test(id)) delete config.exporters[id];
  config.exporters["debug/any"] = null;
  config.service = { pipelines: ANY_PIPELINE };
  for (;;) {
    writeFileSync(file, stringify(config));
    const error = validate(file);
    const [, section, type] = UNKNOWN_TYPE.exec(error) ?? [];
    if (type === undefined) return error;
    for (const id of Object.keys(config[section])) if (id.split("/")[0].trim() === type) delete config[section][id];
  }
}

function withScratchFile(use) {
  const scratch = mkdtempSync(join(tmpdir(), "sluice-corpus-"));
  try {
    return use(join(scratch, "config.yaml"));
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Configs that share this machine's ports are started one after the other. */
async function startAll(configs) {
  const starts = [];
  const waiting = [...configs];
  const startNext = async () => {
    for (let each = waiting.shift(); each !== undefined; each = waiting.shift())
      starts.push({ name: each.name, ...(await tryStart(join(folder, each.name), each.env)) });
  };
  await Promise.all(Array.from({ length: hasOwnNetwork ? availableParallelism() : 1 }, startNext));
  return starts;
}

function unsetVariable({ code, message, path }) {
  return code === "unset_variable" ? [{ variable: /variable (\w+) is not set/.exec(message)[1], path }] : [];
}

/** Gives a variable the first value that its key accepts; if none is accepted, the variable is not the cause. */
function chooseValue({ variable, path }, env, load) {
  const first = env[variable];
  for (const value of [first, ...new Set(PLACEHOLDERS.map(([, each]) => each))]) {
    env[variable] = value;
    if (load(env).problems.every((problem) => problem.severity === "warning" || problem.path !== path)) return;
  }
  env[variable] = first;
}

function placeholder(name) {
  return PLACEHOLDERS.find(([pattern]) => pattern.test(name.toUpperCase()))?.[1] ?? "placeholder";
}

function componentOf({ path }) {
  const [section, id] = path.split(/\.(.*)/s);
  return `${section.slice(0, -1)} ${id.split("/")[0].trim()}`;
}

function summarise(all, starts) {
  const started = starts && new Set(starts.filter((each) => each.starts).map(({ name }) => name));
  return {
    folder,
    files: all.length,
    ordinary: classOf(all.filter((each) => !each.isVendors)),
    vendors: classOf(all.filter((each) => each.isVendors)),
    load: all.filter((each) => each.loads).length,
    onlyKnownComponents: all.filter((each) => each.missing.length === 0).length,
    missingComponentsOnly: all.filter((each) => each.missing.length > 0 && each.real.length === 0).length,
    withProblems: all.filter((each) => each.real.length > 0).length,
    refusedByCollector: all.flatMap(({ name, refusal }) => (refusal === undefined ? [] : [{ name, refusal }])),
    missingComponents: counted(all.flatMap((each) => [...new Set(each.missing)])),
    problems: grouped(all.flatMap((each) => each.real)),
    ...(starts && {
      start: starts.filter((each) => each.starts).length,
      notStarted: starts.filter((each) => !each.starts).map(({ name, reason }) => ({ name, reason })),
    }),
  };

  function classOf(configs) {
    return {
      files: configs.length,
      load: configs.filter((each) => each.loads).length,
      refusedByCollector: configs.filter((each) => each.refusal !== undefined).length,
      ...(started && { start: configs.filter((each) => started.has(each.name)).length }),
      missingComponents: counted(configs.flatMap((each) => [...new Set(each.missing)])),
    };
  }
}

function counted(words) {
  const counts = new Map();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return [...counts].map(([what, count]) => ({ what, count })).sort((a, b) => b.count - a.count);
}

function grouped(problems) {
  const groups = groupBy(problems, reasonOf);
  return [...groups]
    .map(([reason, members]) => ({ reason, count: members.length, places: members.map(placeText) }))
    .sort((a, b) => b.count - a.count);
}

function groupBy(list, keyOf) {
  const groups = new Map();
  for (const item of list) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}

function reasonOf({ code, path, message }) {
  return `${code} ${path.replace(/\/[^.]*/g, "")}: ${message.replace(/; the first is at .*/, "")}`;
}

function placeText({ place }) {
  return place ? `${place.file}:${place.line}:${place.column}` : "";
}

function asText(report) {
  const shareOf = (count, files) => `${count} of ${files} (${Math.round((100 * count) / Math.max(files, 1))} %)`;
  const share = (count) => shareOf(count, report.files);
  const loadText = (files, load, start) =>
    `${shareOf(load, files)} load${start === undefined ? "" : `, ${shareOf(start, files)} start`}`;
  const classText = ({ files, load, start, refusedByCollector: refused }) =>
    loadText(files, load, start) +
    (refused === 0 ? "" : `; without ${refused} that the Collector refuses: ${loadText(files - refused, load, start)}`);
  return [
    `${report.folder}`,
    `ordinary configs:                  ${classText(report.ordinary)}`,
    `configs with vendors' components:  ${classText(report.vendors)}`,
    `load:                              ${share(report.load)}`,
    ...(report.start === undefined ? [] : [`load and start:                    ${share(report.start)}`]),
    `use only components Sluice has:    ${share(report.onlyKnownComponents)}, of which ${report.load} load`,
    `use components Sluice has not:     ${share(report.missingComponentsOnly)}`,
    `have other problems:               ${share(report.withProblems)}`,
    "",
    ...missingText("ordinary configs", report.ordinary),
    ...missingText("configs with vendors' components", report.vendors),
    "Other problems:",
    ...report.problems.map(
      ({ reason, count, places }) => `${String(count).padStart(5)}  ${reason}\n       ${places.slice(0, 3).join(", ")}`,
    ),
    ...(report.refusedByCollector.length === 0 ? [] : ["", "Refused by the Collector as well:"]),
    ...report.refusedByCollector.map(({ name, refusal }) => `${name}: ${refusal}`),
    ...(report.notStarted === undefined ? [] : notStartedText(report.notStarted)),
  ].join("\n");
}

function missingText(what, { missingComponents }) {
  return [
    `Components that ${what} miss, by the number of configs that use them:`,
    ...missingComponents.map(({ what: type, count }) => `${String(count).padStart(5)}  ${type}`),
    "",
  ];
}

function notStartedText(configs) {
  const where = hasOwnNetwork ? "each in a network of its own" : "with this machine's network: ports may be taken";
  return ["", `Loaded, but did not start (${where}):`, ...configs.map(({ name, reason }) => `${name}: ${reason}`)];
}
