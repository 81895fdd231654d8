import type { z } from "zod";
import type { ComponentFactory } from "../contract/component.js";
import type { ExporterSettings } from "../contract/exporter-settings.js";
import { wordsOf } from "../contract/words-of.js";
import { exporterSettingsSchema } from "../ottl/record-condition.js";
import type { Definition } from "./components.js";
import type { Findings } from "./findings.js";
import { problemsOf } from "./issues.js";
import { isNull, type MapNode, mapNode, type Node, type Path, type ScalarNode, type Span } from "./node.js";
import { remarksOn } from "./remarks.js";
import { REDACTED, secretSpans, withoutUrlSecrets } from "./sensitive.js";
import { isOpaque, keysOf } from "./shape.js";
import { knownKey, shaped } from "./shaped.js";

export interface ParsedComponent {
  readonly config: unknown;
  /** Exporters only. */
  readonly settings: ExporterSettings | undefined;
}

/** Holds a component's config against its schema, and an exporter's common keys against theirs. */
export function parseComponent(
  { node, section, name, key }: Definition,
  factory: ComponentFactory,
  findings: Findings,
): ParsedComponent | undefined {
  const path = [section, name];
  const written = isNull(node) ? mapNode(node, new Map()) : node;
  if (factory.kind !== "exporter" || written.kind !== "map") {
    const config = parseWith(written, factory.schema, path, findings, { key });
    return config && { config: config.value, settings: undefined };
  }
  const { own, common } = splitExporter(written, factory.schema);
  const config = parseWith(own, factory.schema, path, findings, { key, siblings: [...commonKeys.keys()] });
  const settings = parseWith(common, exporterSettingsSchema, path, findings, { key });
  return config && settings && { config: config.value, settings: settings.value as ExporterSettings };
}

export interface ParseExtras {
  /** Where to point for what is not written at all. */
  readonly key: Span;
  readonly siblings?: readonly string[];
}

/** The schema's result in a box, or undefined and findings. A schema of a plugin may also throw. */
export function parseWith(
  node: Node,
  schema: z.ZodType,
  path: Path,
  findings: Findings,
  { key, siblings = [] }: ParseExtras,
): { readonly value: unknown } | undefined {
  try {
    findings.problems.push(...remarksOn(node, schema, path));
    const result = schema.safeParse(shaped(node, schema));
    if (result.success) return { value: result.data };
    findings.problems.push(...problemsOf(result.error.issues, { node, schema, path, key, siblings }));
  } catch (error) {
    findings.error("schema_failed", key, path, `the component's schema failed: ${schemaFailure(error, node, schema)}`);
  }
  return undefined;
}

function schemaFailure(error: unknown, node: Node, schema: z.ZodType): string {
  const words = wordsOf(error);
  if (words.includes("during synchronous parse")) return "it is asynchronous, and only others can be used";
  const secrets = hiddenTexts(node, schema).filter((text) => text.length > 2);
  return secrets.reduce((text, secret) => text.replaceAll(secret, REDACTED), withoutUrlSecrets(words));
}

/** What a schema may say of a config and must not be shown: it is secret, came from a variable, or nobody knows. */
function hiddenTexts(node: Node, schema: z.ZodType): string[] {
  const all = scalars(node);
  const secrets = new Set<Span>(isOpaque(schema) ? all : secretSpans(node, [schema]));
  return all.filter((scalar) => scalar.substituted || secrets.has(scalar)).map(({ text }) => text);
}

function scalars(node: Node): ScalarNode[] {
  if (node.kind === "scalar") return [node];
  const inner = node.kind === "list" ? node.items : [...node.entries.values()].map(({ value }) => value);
  return inner.flatMap(scalars);
}

const commonKeys = keysOf(exporterSettingsSchema);

/** An exporter's own keys and the common ones; a key that both know goes to both. */
function splitExporter(node: MapNode, schema: z.ZodType): { own: MapNode; common: MapNode } {
  const ownKeys = keysOf(schema);
  const all = [...node.entries];
  const isCommon = (key: string) => commonKeys.has(knownKey(key, commonKeys, node.entries));
  return {
    own: mapNode(node, new Map(all.filter(([key]) => !isCommon(key) || ownKeys.has(key)))),
    common: mapNode(node, new Map(all.filter(([key]) => isCommon(key)))),
  };
}

export function overDefaults(defaults: unknown, written: unknown): unknown {
  if (!isRecord(defaults)) return written === undefined ? defaults : written;
  if (written === undefined || written === null) return defaults;
  if (!isRecord(written)) return written;
  const merged = new Map(Object.entries(defaults));
  for (const [key, value] of Object.entries(written)) merged.set(key, overDefaults(merged.get(key), value));
  return Object.fromEntries(merged);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
