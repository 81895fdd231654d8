import type { z } from "zod";
import { defaultSettings, REDACTED } from "#contract/schema";
import type { Registry } from "../resolve/registry.js";
import { parseId, SECTIONS, type SectionName } from "../schema/component-id.js";
import { withDefaults, writtenDefault } from "../schema/describe-keys.js";
import { fullServiceSchema, serviceSchema } from "../schema/service-schema.js";
import { isOpaqueSchema, isUntypedSchema, keysOf, valueKinds } from "../schema/zod-schema.js";
import type { MapNode, Node, ScalarNode } from "../text/node.js";
import { visitSecrets } from "./find-secrets.js";
import { componentSchemas } from "./masked-lines.js";
import { withoutSecretTexts } from "./secret-text.js";

interface RedactedConfigOptions {
  readonly registry: Registry;
  /** Adds absent keys with their defaults. */
  readonly defaults: boolean;
}

/**
 * A merged config as plain values for display, with secrets replaced, as found by schema and by name. If a component
 * has no schema here, its values from variables or files are replaced too, and so are those of keys that accept any
 * value.
 */
export function redactedConfig(root: MapNode, options: RedactedConfigOptions): Record<string, unknown> {
  return mapEntries(root, (section, node) => {
    if (section === "service")
      return withMissingDefaults(redactedValue(node, [fullServiceSchema], false), [serviceSchema], options);
    if (node.kind !== "map" || !Object.hasOwn(SECTIONS, section)) return redactedValue(node, [], true);
    return mapEntries(node, (name, component) => redactedComponent(section as SectionName, name, component, options));
  });
}

function redactedComponent(section: SectionName, name: string, node: Node, options: RedactedConfigOptions): unknown {
  const kind = SECTIONS[section];
  const schemas = componentSchemas(kind, name, options.registry);
  const value = redactedValue(node, schemas, schemas.length === 0 || schemas.some(isOpaqueSchema));
  if (!options.defaults || schemas.length === 0) return value;
  const factory = kind === "exporter" ? options.registry.get(kind, parseId(name)!.type) : undefined;
  const common = factory && withDefaults(defaultSettings(), factory.defaults);
  return withMissingDefaults(withDefaults(common, value ?? {}), schemas, options);
}

function redactedValue(node: Node, schemas: readonly z.ZodType[], hideSubstituted: boolean): unknown {
  return visitSecrets<unknown>(node, schemas, {
    scalar: (scalar, isSecret, held) =>
      redactedScalar(scalar, isSecret || (hideSubstituted && scalar.substituted), held),
    list: (items) => items,
    map: (entries) => Object.fromEntries(entries),
  });
}

function redactedScalar(node: ScalarNode, isSecret: boolean, schemas: readonly z.ZodType[]): unknown {
  if (node.value === null) return null;
  if (isSecret || (node.substituted && schemas.every(isUntypedSchema))) return REDACTED;
  if (typeof node.value === "string") return shownText(node, node.value);
  const isText = schemas.some((schema) => valueKinds(schema).has("string") && !valueKinds(schema).has("number"));
  return isText ? node.text : node.value;
}

/**
 * An address or a path that came from a variable is shown, because people need it. In a sentence or a statement, such as
 * those of OTTL, it may be a value that the author kept out of the file, so only the written parts are shown.
 */
function shownText({ substituted, withoutReferences = REDACTED }: ScalarNode, value: string): string {
  return withoutSecretTexts(substituted && STATEMENT.test(value) ? withoutReferences : value);
}

const STATEMENT = /[\s"'()]/;

/** Adds the defaults of absent keys, in YAML form. */
function withMissingDefaults(value: unknown, schemas: readonly z.ZodType[], options: RedactedConfigOptions): unknown {
  if (!options.defaults || typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const result = new Map(Object.entries(value));
  for (const schema of schemas) {
    for (const [key, child] of keysOf(schema)) {
      const written = result.get(key) ?? writtenDefault(child);
      if (written !== undefined) result.set(key, withMissingDefaults(written, [child], options));
      else if (result.has(key) && keysOf(child).size > 0) result.set(key, withMissingDefaults({}, [child], options));
    }
  }
  return Object.fromEntries(result);
}

function mapEntries(node: MapNode, each: (key: string, value: Node) => unknown): Record<string, unknown> {
  return Object.fromEntries([...node.entries].map(([key, entry]) => [key, each(key, entry.value)]));
}
