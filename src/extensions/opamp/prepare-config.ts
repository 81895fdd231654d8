import { isMap, isSeq, Lexer, parseDocument } from "yaml";
import type { RemoteConfigFile } from "#contract/operations";
import type { OfferedFile } from "./messages.js";

/** The whole remote config may have this many bytes. Reading YAML takes a while, and the agent does nothing else meanwhile. */
const MAX_BYTES = 1024 * 1024;
/** For the same reason. A token takes 5 to 20 µs. */
const MAX_TOKENS = 50_000;
/** Much deeper nesting makes the YAML parser exhaust its stack or the memory. */
const MAX_DEPTH = 200;
/** The sections that a remote config may have. Plugins are code, so only the agent's own files can name them. */
const SECTIONS: ReadonlySet<unknown> = new Set([
  "receivers",
  "processors",
  "exporters",
  "connectors",
  "extensions",
  "service",
]);
const CONTENT_TYPES: ReadonlySet<string> = new Set([
  "",
  "text/yaml",
  "text/x-yaml",
  "application/yaml",
  "application/json",
]);

/**
 * The files of an offered config as the agent merges them, sorted by name. The extension itself is added to the
 * extensions of the service, so that a remote config that does not know about it cannot cut the agent off. Throws an
 * `Error` for what the agent does not take at all; everything else is found when the config is loaded.
 */
export function prepareConfig(files: readonly OfferedFile[], id: string): RemoteConfigFile[] {
  const size = files.reduce((sum, { body }) => sum + body.length, 0);
  if (size > MAX_BYTES) throw new Error(`the config has ${size} bytes; at most ${MAX_BYTES} are accepted`);
  const sorted = files.toSorted((a, b) => (a.name < b.name ? -1 : 1)).filter(({ body }) => body.length > 0);
  let tokens = 0;
  return sorted.map(({ name, body, contentType }) => {
    const type = contentType.split(";")[0]!.trim().toLowerCase();
    if (!CONTENT_TYPES.has(type)) throw new Error(`${fileName(name)} is of type ${type}; expected text/yaml`);
    const text = body.toString("utf8");
    tokens += countTokens(text, fileName(name), MAX_TOKENS - tokens);
    return { name: fileName(name), text: withExtension(text, fileName(name), id) };
  });
}

/** Throws if the text would keep the YAML parser busy for long. An escape in a string may be an error, so it counts too. */
function countTokens(text: string, name: string, max: number): number {
  let tokens = text.split("\\", max + 1).length;
  let brackets = 0;
  let nestedInLine = 0;
  for (const token of new Lexer().lex(text)) {
    tokens += 1;
    if (token === "[" || token === "{") brackets += 1;
    else if (token === "]" || token === "}") brackets = Math.max(0, brackets - 1);
    else if (token === "-" || token === "?") nestedInLine += 1;
    else if (token.startsWith("\n") || token.startsWith("\r")) nestedInLine = 0;
    if (tokens > max) throw new Error(`the config has more than ${MAX_TOKENS} YAML tokens`);
    if (brackets + nestedInLine > MAX_DEPTH) throw new Error(`${name} is nested deeper than ${MAX_DEPTH} levels`);
  }
  return tokens;
}

function fileName(name: string): string {
  return name === "" ? "remote config" : `remote config ${JSON.stringify(name.slice(0, 100))}`;
}

function withExtension(text: string, name: string, id: string): string {
  const document = parseDocument(text);
  if (document.errors.length > 0 || document.contents === null) return text; // The loader reports it, with its place.
  if (!isMap(document.contents)) throw new Error(`${name} is not a map of sections such as receivers`);
  for (const { key } of document.contents.items) {
    const section = (key as { readonly value?: unknown } | null)?.value;
    if (!SECTIONS.has(section)) throw new Error(`${name} has ${String(section)}, which a remote config cannot have`);
  }
  const extensions = document.getIn(["service", "extensions"]);
  if (!isSeq(extensions) || extensions.items.some((item) => (item as { value?: unknown }).value === id)) return text;
  extensions.add(document.createNode(id));
  return document.toString();
}
