import type { z } from "zod";
import type { BuiltInComponentFactory, BuiltInReceiverFactory } from "#contract/built-in";
import { type ConfigPath, type ExporterSettings, PARSED_ONCE, uncheckedExporterSettingsSchema } from "#contract/schema";
import type { ReceiverTypes } from "#contract/services";
import { parseId } from "../schema/component-id.js";
import { withTlsKeysMoved } from "../schema/old-keys.js";
import { schemaInput } from "../schema/schema-input.js";
import { usageWarnings } from "../schema/usage-warnings.js";
import { knownKey } from "../schema/visit-schema.js";
import { keysOf } from "../schema/zod-schema.js";
import { Findings } from "../text/findings.js";
import { isNull, listNode, type MapNode, mapNode, type Node, type Span, scalarNode } from "../text/node.js";
import { callPlugin } from "./call-plugin.js";
import { problemsFromIssues } from "./problems-from-issues.js";
import type { Registry } from "./registry.js";
import type { ComponentDefinition } from "./spec.js";

export interface ParsedComponent {
  readonly config: unknown;
  /** Undefined for components that are not exporters. */
  readonly settings: ExporterSettings | undefined;
}

/** Parses a component's config with its schema, and an exporter's common keys with theirs. */
export function parseComponent(
  { node, section, name, key }: ComponentDefinition,
  factory: BuiltInComponentFactory,
  registry: Registry,
  findings: Findings,
): ParsedComponent | undefined {
  const path = [section, name];
  const written = isNull(node) ? mapNode(node, new Map()) : node;
  if (factory.kind !== "exporter" || written.kind !== "map") {
    const config = parseNode(written, factory.schema, path, findings, { key });
    return config && { config: config.value, settings: undefined };
  }
  const { node: current, warnings } = withTlsKeysMoved(written, keysOf(factory.schema), path);
  findings.problems.push(...warnings);
  const { specific, common } = splitExporterKeys(current, factory.schema);
  const config = parseNode(specific, factory.schema, path, findings, { key, siblings: [...commonKeys.keys()] });
  const settings = parseNode(common, registry.exporterSettings, path, findings, { key });
  return config && settings && { config: config.value, settings: settings.value as ExporterSettings };
}

interface ParseOptions {
  /** Place of problems about missing keys. */
  readonly key: Span;
  readonly siblings?: readonly string[];
}

/**
 * The schema's result in an object; undefined if there are errors, which go to the findings. A plugin's schema may also
 * throw.
 */
export function parseNode(
  node: Node,
  schema: z.ZodType,
  path: ConfigPath,
  findings: Findings,
  { key, siblings = [] }: ParseOptions,
): { readonly value: unknown } | undefined {
  const plugin = {
    name: "the component's schema",
    severity: "error",
    code: "schema_failed",
    key,
    path,
    node,
    schema,
  } as const;
  const read = () => {
    findings.problems.push(...usageWarnings(node, schema, path));
    const result = schema.safeParse(schemaInput(node, schema), PARSED_ONCE);
    if (result.success) return { value: result.data };
    findings.problems.push(...problemsFromIssues(result.error.issues, { node, schema, path, key, siblings }));
    return undefined;
  };
  return callPlugin(read, plugin, findings);
}

const commonKeys = keysOf(uncheckedExporterSettingsSchema);

/** Separates an exporter's own keys from the common ones; a key that both schemas know goes to both. */
function splitExporterKeys(node: MapNode, schema: z.ZodType): { specific: MapNode; common: MapNode } {
  const ownKeys = keysOf(schema);
  const all = [...node.entries];
  const isCommon = (key: string) => commonKeys.has(knownKey(key, commonKeys, node.entries));
  return {
    specific: mapNode(node, new Map(all.filter(([key]) => !isCommon(key) || ownKeys.has(key)))),
    common: mapNode(node, new Map(all.filter(([key]) => isCommon(key)))),
  };
}

/** Checks configs of receivers that are started while the agent runs, with the types that its config may name. */
export function receiverTypes(registry: Registry, root: MapNode): ReceiverTypes<BuiltInReceiverFactory> {
  return {
    has: (type) => registry.get("receiver", type) !== undefined,
    plan(id, config, defaults = {}) {
      const type = parseId(id)?.type ?? id;
      const factory = registry.get("receiver", type);
      if (factory === undefined) throw new Error(`there is no receiver of type "${type}"`);
      const keys = keysOf(factory.schema);
      const added = Object.entries(defaults).filter(([key]) => keys.has(key) && !Object.hasOwn(config, key));
      const findings = new Findings();
      const node = plainNode(root, { ...Object.fromEntries(added), ...config });
      const parsed = parseNode(node, factory.schema, [id], findings, { key: root });
      const errors = findings.problems.filter(({ severity }) => severity === "error");
      if (parsed !== undefined && errors.length === 0) return { factory, config: parsed.value };
      throw new Error(errors.map(({ path, message }) => `${path}: ${message}`).join("; "));
    },
  };
}

/** A tree of plain values, all of them at `span`. Messages do not show them, because some may come from variables. */
function plainNode(span: Span, value: unknown): Node {
  if (Array.isArray(value))
    return listNode(
      span,
      value.map((item) => plainNode(span, item)),
    );
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value).map(
      ([key, item]) => [key, { key: span, value: plainNode(span, item) }] as const,
    );
    return mapNode(span, new Map(entries));
  }
  const isScalar = typeof value === "string" || typeof value === "number" || typeof value === "boolean";
  return scalarNode(span, isScalar ? value : null, undefined, isScalar);
}
