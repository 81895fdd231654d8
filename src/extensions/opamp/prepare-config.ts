import { isMap, isSeq, parseDocument } from "yaml";
import type { RemoteConfigFile } from "#contract/operations";
import type { OfferedFile } from "./messages.js";

/** The whole remote config may have this many bytes. Reading YAML takes a while, and the agent does nothing else meanwhile. */
const MAX_BYTES = 1024 * 1024;
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
  if (size > MAX_BYTES) throw new Error(`the config has ${size} bytes; at most ${MAX_BYTES} are taken`);
  const sorted = files.toSorted((a, b) => (a.name < b.name ? -1 : 1)).filter(({ body }) => body.length > 0);
  return sorted.map(({ name, body, contentType }) => {
    const type = contentType.split(";")[0]!.trim().toLowerCase();
    if (!CONTENT_TYPES.has(type)) throw new Error(`${fileName(name)} is of type ${type}; expected text/yaml`);
    return { name: fileName(name), text: withExtension(body.toString("utf8"), fileName(name), id) };
  });
}

function fileName(name: string): string {
  return name === "" ? "remote config" : `remote config ${JSON.stringify(name.slice(0, 100))}`;
}

function withExtension(text: string, name: string, id: string): string {
  const document = parseDocument(text);
  if (document.errors.length > 0 || document.contents === null) return text; // The loader reports it, with its place.
  if (!isMap(document.contents)) throw new Error(`${name} is no map of sections such as receivers`);
  for (const { key } of document.contents.items) {
    const section = (key as { readonly value?: unknown } | null)?.value;
    if (!SECTIONS.has(section)) throw new Error(`${name} has ${String(section)}, which a remote config cannot have`);
  }
  const extensions = document.getIn(["service", "extensions"]);
  if (!isSeq(extensions) || extensions.items.some((item) => (item as { value?: unknown }).value === id)) return text;
  extensions.add(document.createNode(id));
  return document.toString();
}
