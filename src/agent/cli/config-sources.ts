import type { ConfigSource } from "#config";
import { DEFAULT_CONFIG, type OptionValues } from "./command.js";
import { UsageError } from "./terminal.js";

/** Returns the arguments of `--config`; at least one. */
export function configFiles(values: OptionValues): readonly string[] {
  const files = (values["config"] ?? []) as readonly string[];
  if (files.length === 0)
    throw new UsageError(
      `no config was given, and there is no ${DEFAULT_CONFIG} here`,
      "name one: --config pipeline.yaml, or write one: sluice init",
    );
  return files;
}

/**
 * Turns the arguments of `--config` into sources: a file name, or one of the Collector's prefixes: `file:PATH`,
 * `env:NAME`, or `yaml:TEXT`, where `a::b: 1` is short for a map in a map.
 */
export function configSources(
  names: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): readonly ConfigSource[] {
  let texts = 0;
  // Each source needs its own name: problems are shown with the source line found by name.
  const textName = () => (++texts === 1 ? "yaml:" : `yaml:(${texts})`);
  return names.map((name) => sourceOf(name, env, textName));
}

function sourceOf(
  name: string,
  env: Readonly<Record<string, string | undefined>>,
  textName: () => string,
): ConfigSource {
  const [, scheme, rest = ""] = SCHEME.exec(name) ?? [];
  switch (scheme) {
    case "file":
      return { file: rest };
    case "env":
      return { text: readVariable(rest, env), name };
    case "yaml":
      return { text: expandNestedKeys(rest), name: textName() };
    case "http":
    case "https":
      throw new UsageError(`--config ${scheme}: is not supported`, "download the config, and name the file");
    default:
      return { file: name };
  }
}

/** Any other prefix belongs to the file name, such as a drive letter. */
const SCHEME = /^(file|env|yaml|https?):([\s\S]*)$/;

function readVariable(name: string, env: Readonly<Record<string, string | undefined>>): string {
  const text = env[name];
  if (text === undefined) throw new UsageError(`--config env:${name}: there is no environment variable ${name}`);
  return text;
}

/** Rewrites `a::b: 1` as nested maps; returns any other text unchanged. */
function expandNestedKeys(text: string): string {
  const keys = OUTER_KEYS.exec(text)?.[0].split("::").slice(0, -1) ?? [];
  const inner = keys.length === 0 ? text : text.slice(keys.join("::").length + 2);
  const heads = keys.map((key, depth) => `${"  ".repeat(depth)}${key}:`);
  return [...heads, ...inner.split("\n").map((line) => "  ".repeat(keys.length) + line)].join("\n");
}

const OUTER_KEYS = /^(?:[\w./-]+::)+/;
