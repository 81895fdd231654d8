import type { z } from "zod";
import { DEFAULT_SETTINGS } from "../contract/exporter-settings.js";
import type { Registry } from "../registry.js";
import { parseId } from "./component-id.js";
import { SECTIONS, type SectionName } from "./components.js";
import { writtenDefault } from "./describe.js";
import { schemasOf } from "./masked-lines.js";
import { isNull, type MapNode, type Node } from "./node.js";
import { overDefaults } from "./parse-component.js";
import { REDACTED, viewOf, withoutUrlSecrets } from "./sensitive.js";
import { serviceSchema, shownServiceSchema } from "./service-schema.js";
import { isOpaque, isSecret, keysOf, kindsOf } from "./shape.js";

export interface PrintOptions {
  readonly registry: Registry;
  /** Add keys that are not written, with their defaults. */
  readonly defaults: boolean;
}

/**
 * A merged config as plain values to be shown: secrets are replaced, by schema and by name. Of a component that has no
 * schema here, values that came from a variable or a file are replaced too.
 */
export function printable(root: MapNode, options: PrintOptions): Record<string, unknown> {
  return mapEntries(root, (section, node) => {
    if (section === "service") return filled(shown(node, [shownServiceSchema], false), [serviceSchema], options);
    if (node.kind !== "map" || !Object.hasOwn(SECTIONS, section)) return shown(node, [], true);
    return mapEntries(node, (name, component) => printComponent(section as SectionName, name, component, options));
  });
}

function printComponent(section: SectionName, name: string, node: Node, options: PrintOptions): unknown {
  const kind = SECTIONS[section];
  const schemas = schemasOf(kind, name, options.registry);
  const value = shown(node, schemas, schemas.length === 0 || schemas.some(isOpaque));
  if (!options.defaults || schemas.length === 0) return value;
  const factory = kind === "exporter" ? options.registry.get(kind, parseId(name)!.type) : undefined;
  const common = factory && overDefaults(DEFAULT_SETTINGS, factory.defaults);
  return filled(overDefaults(common, value ?? {}), schemas, options);
}

function shown(node: Node, schemas: readonly z.ZodType[], untrusted: boolean, hidden = false): unknown {
  const secret = hidden || schemas.some(isSecret);
  if (node.kind === "list") {
    return node.items.map((item, i) => shown(item, viewOf(schemas, i, new Map()).schemas, untrusted, secret));
  }
  if (node.kind === "map") {
    return mapEntries(node, (key, value) => {
      const view = viewOf(schemas, key, node.entries);
      return shown(value, view.schemas, untrusted, secret || view.hidden);
    });
  }
  if (isNull(node)) return null;
  if (secret || (untrusted && node.substituted)) return REDACTED;
  if (typeof node.value === "string") return withoutUrlSecrets(node.value);
  return schemas.some((schema) => kindsOf(schema).has("string") && !kindsOf(schema).has("number"))
    ? node.text
    : node.value;
}

/** Adds the defaults of keys that are not written, as they would be written. */
function filled(value: unknown, schemas: readonly z.ZodType[], options: PrintOptions): unknown {
  if (!options.defaults || typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const result = new Map(Object.entries(value));
  for (const schema of schemas) {
    for (const [key, child] of keysOf(schema)) {
      const written = result.get(key) ?? writtenDefault(child);
      if (written !== undefined) result.set(key, filled(written, [child], options));
      else if (result.has(key) && keysOf(child).size > 0) result.set(key, filled({}, [child], options));
    }
  }
  return Object.fromEntries(result);
}

function mapEntries(node: MapNode, each: (key: string, value: Node) => unknown): Record<string, unknown> {
  return Object.fromEntries([...node.entries].map(([key, entry]) => [key, each(key, entry.value)]));
}
