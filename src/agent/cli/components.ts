import { configJsonSchema, type JsonSchema, openConfig } from "#config";
import type { Registry } from "#config/resolve";
import { describeKeys, type KeyDescription, withDefaults } from "#config/schema";
import type { ComponentFactory } from "#contract";
import { defaultSettings, nearest, uncheckedExporterSettingsSchema } from "#contract/schema";
import { loadPlugins } from "#host";
import type { CommandContext } from "./command.js";
import { configSources } from "./config-sources.js";
import { type Column, table } from "./print/table.js";
import { showProblems } from "./show-problems.js";
import { EXIT, type Output, UsageError } from "./terminal.js";

export interface ComponentDescription {
  readonly kind: string;
  readonly type: string;
  readonly aliases: readonly string[];
  readonly summary: string;
  /** Signals that the component accepts; for a connector, pairs of input and output signal. */
  readonly signals: readonly string[];
  readonly keys: readonly KeyDescription[];
}

/** `sluice components`: lists the components that a config may name; the keys of those that are named. */
export async function components(context: CommandContext): Promise<number> {
  const { values, terminal } = context;
  const known = await registryWithPlugins(context);
  if (known === undefined) return EXIT.failed;
  const wanted = (values["names"] ?? []) as readonly string[];
  const all = known.all().map(describeComponent);
  const chosen = all.filter((each) => wanted.length === 0 || wanted.some((name) => hasName(each, name)));
  for (const name of wanted) {
    if (chosen.some((each) => hasName(each, name))) continue;
    const guess = nearest(
      name,
      all.flatMap(({ type, aliases }) => [type, ...aliases]),
    );
    throw new UsageError(`there is no component "${name}"`, guess && `did you mean "${guess}"?`);
  }
  const withoutKeys = values["short"] === true;
  const isShort = withoutKeys || (wanted.length === 0 && values["full"] !== true);
  if (values["json"] === true) {
    const shown = withoutKeys ? chosen.map(({ keys: _, ...facts }) => facts) : chosen;
    terminal.out.write(`${JSON.stringify(shown, undefined, 2)}\n`);
  } else if (isShort) terminal.out.write(`${shortList(chosen, terminal.out).join("\n")}\n`);
  else terminal.out.write(componentsText(chosen));
  return EXIT.ok;
}

export function describeComponent(factory: ComponentFactory): ComponentDescription {
  const { kind, type, aliases = [], summary, schema } = factory;
  const ownKeys = describeKeys(schema);
  const common =
    factory.kind === "exporter"
      ? commonKeys(withDefaults(defaultSettings(), factory.defaults) as Record<string, unknown>)
      : [];
  const keys = [...ownKeys, ...common.filter((key) => ownKeys.every(({ path }) => path !== key.path))];
  return { kind, type, aliases, summary, signals: signalsOf(factory), keys };
}

function signalsOf(factory: ComponentFactory): string[] {
  if (factory.kind === "extension") return [];
  if (factory.kind === "connector") return factory.routes.map(({ from, to }) => `${from} to ${to}`);
  return [...factory.signals];
}

/** The keys that every exporter has, with the defaults of this exporter. */
function commonKeys(defaults: Readonly<Record<string, unknown>>): KeyDescription[] {
  return describeKeys(uncheckedExporterSettingsSchema).map((key) => {
    const typeDefault = key.path
      .split(".")
      .reduce<unknown>((at, part) => (at as Record<string, unknown> | undefined)?.[part], defaults);
    return typeDefault === undefined || typeof typeDefault === "object"
      ? key
      : { ...key, default: withDefaults(key.default, typeDefault) };
  });
}

function hasName({ type, aliases }: ComponentDescription, name: string): boolean {
  return type === name || aliases.includes(name);
}

const SHORT_COLUMNS: readonly Column[] = [
  { title: "KIND" },
  { title: "TYPE" },
  { title: "WHAT IT DOES", shrinks: true },
];

function shortList(all: readonly ComponentDescription[], out: Output): string[] {
  const rows = all.map(({ kind, type, summary }) => [kind, type, summary]);
  return table(SHORT_COLUMNS, rows, out);
}

function componentsText(all: readonly ComponentDescription[]): string {
  return all
    .map((each) => `${[headline(each), ...summaryLine(each), ...each.keys.map(keyLine)].join("\n")}\n`)
    .join("\n");
}

function headline({ kind, type, aliases, signals }: ComponentDescription): string {
  const also = aliases.length > 0 ? ` (also ${aliases.join(", ")})` : "";
  return `${kind} ${type}${also}${signals.length > 0 ? `: ${signals.join(", ")}` : ""}`;
}

/** A plugin's component may have no summary. */
function summaryLine({ summary }: ComponentDescription): string[] {
  return summary === "" ? [] : [`  ${summary}`];
}

function keyLine(key: KeyDescription): string {
  const notes = [
    key.required ? "required" : key.default === undefined ? undefined : `default ${JSON.stringify(key.default)}`,
    key.secret ? "secret" : undefined,
    key.deprecated === undefined ? undefined : `deprecated: ${key.deprecated}`,
    key.ignored === undefined ? undefined : `no effect: ${key.ignored}`,
  ].filter((note) => note !== undefined);
  const description = key.description === undefined ? "" : `  ${key.description}`;
  return `    ${key.path.padEnd(36)} ${key.type}${notes.length > 0 ? ` (${notes.join("; ")})` : ""}${description}`;
}

/**
 * The built-in components, and those of the plugins that `--config` and `--plugin` name. Returns undefined when a
 * plugin cannot be loaded, after printing why. Other problems of the config are ignored.
 */
async function registryWithPlugins(context: CommandContext): Promise<Registry | undefined> {
  const { values, terminal } = context;
  const registry = await context.registry();
  const files = (values["config"] ?? []) as readonly string[];
  const extra = (values["plugin"] ?? []) as readonly string[];
  if (files.length === 0 && extra.length === 0) return registry;
  const opened = openConfig({ sources: configSources(files, terminal.env), env: terminal.env });
  const { root, findings } = opened;
  const loaded = await loadPlugins(root, { registry, findings, extra });
  const errors = findings.problems.filter(
    ({ severity, code, path }) => severity === "error" && (READ_ERROR_CODES.test(code) || path.startsWith("plugins")),
  );
  if (errors.length === 0) return loaded;
  showProblems(errors, opened.resolve(loaded).lineAt, terminal.err);
  return undefined;
}

const READ_ERROR_CODES = /^(plugin_|yaml_|unreadable_file$|empty_config$|not_a_map$)/;

/** `sluice schema`: prints the JSON Schema of a config. */
export async function schema(context: CommandContext): Promise<number> {
  const registry = await registryWithPlugins(context);
  if (registry === undefined) return EXIT.failed;
  context.terminal.out.write(schemaText(configJsonSchema(registry)));
  return EXIT.ok;
}

/** One line per section and per definition: with indentation the schema would be nearly twice as large. */
function schemaText({ $defs, properties, ...root }: JsonSchema): string {
  const lines = linesOf(root, "  ");
  const blocks = Object.entries({ properties, $defs } as Record<string, JsonSchema>).map(
    ([name, block]) => `  "${name}": {\n${linesOf(block, "    ").join(",\n")}\n  }`,
  );
  return `{\n${[...lines, ...blocks].join(",\n")}\n}\n`;
}

function linesOf(object: JsonSchema, indent: string): string[] {
  return Object.entries(object).map(([name, json]) => `${indent}"${name}": ${JSON.stringify(json)}`);
}
