import type { ConfigSource } from "#config";
import { UsageError } from "./terminal.js";

/**
 * What `--config` names: a file, or what the Collector's prefixes say: `file:PATH`, `env:NAME`, or `yaml:TEXT`, in which
 * `a::b: 1` is short for a map in a map.
 */
export function configSources(
  names: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): readonly ConfigSource[] {
  let texts = 0;
  // Problems are shown with the line they are in, so no two texts may have the same name.
  const textName = () => (++texts === 1 ? "yaml:" : `yaml:(${texts})`);
  return names.map((name) => sourceOf(name, env, textName));
}

function sourceOf(
  name: string,
  env: Readonly<Record<string, string | undefined>>,
  textName: () => string,
): ConfigSource {
  const [, scheme, rest] = SCHEME.exec(name) ?? [];
  switch (scheme) {
    case "file":
      return { file: rest! };
    case "env":
      return { text: readVariable(rest!, env), name };
    case "yaml":
      return { text: expandNestedKeys(rest!), name: textName() };
    case "http":
    case "https":
      throw new UsageError(`--config ${scheme}: is not supported`, "download the config, and name the file");
    default:
      return { file: name };
  }
}

/** Other beginnings are part of a file's name, as the letter of a drive is. */
const SCHEME = /^(file|env|yaml|https?):([\s\S]*)$/;

function readVariable(name: string, env: Readonly<Record<string, string | undefined>>): string {
  const text = env[name];
  if (text === undefined) throw new UsageError(`--config env:${name}: there is no environment variable ${name}`);
  return text;
}

/** `a::b: 1` as a map in a map; anything else as it is. */
function expandNestedKeys(text: string): string {
  const keys = OUTER_KEYS.exec(text)?.[0].split("::").slice(0, -1) ?? [];
  const inner = keys.length === 0 ? text : text.slice(keys.join("::").length + 2);
  const heads = keys.map((key, depth) => `${"  ".repeat(depth)}${key}:`);
  return [...heads, ...inner.split("\n").map((line) => "  ".repeat(keys.length) + line)].join("\n");
}

const OUTER_KEYS = /^(?:[\w./-]+::)+/;
