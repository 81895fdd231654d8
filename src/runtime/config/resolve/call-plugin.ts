import type { z } from "zod";
import type { ComponentFactory } from "#contract";
import { errorMessage } from "#contract/errors";
import type { ConfigPath } from "#contract/schema";
import { REDACTED } from "#contract/schema";
import { isOpaqueSchema } from "../schema/zod-schema.js";
import { secretSpans } from "../secrets/find-secrets.js";
import { withoutSecretTexts } from "../secrets/secret-text.js";
import type { Findings } from "../text/findings.js";
import type { Node, ScalarNode, Span } from "../text/node.js";
import type { ProblemCode } from "../text/problem-codes.js";
import type { ComponentDefinition } from "./spec.js";

/** A function of a component, and the config that it is called with. */
interface PluginCode {
  /** The function and its component, for error messages: `namedPipelines of connector "routing"`. */
  readonly name: string;
  /** Severity and code of the finding if the function throws. */
  readonly severity: "error" | "warning";
  readonly code: ProblemCode;
  /** Place of the component in the config. */
  readonly key: Span;
  readonly path: ConfigPath;
  readonly node: Node;
  readonly schema: z.ZodType;
}

/** Describes a function of a component other than its schema. It is called with the component's parsed config. */
export function pluginCode(
  name: string,
  { kind, id, section, name: written, key, node }: ComponentDefinition,
  { schema }: ComponentFactory,
  severity: PluginCode["severity"],
): PluginCode {
  const path = [section, written];
  return { name: `${name} of ${kind} "${id}"`, severity, code: "component_failed", key, path, node, schema };
}

/**
 * Calls code of a component while a config is loaded: its schema, or a function about its config. A plugin's code may
 * throw anything. If it throws, adds a finding at the component's key, without any secrets from the error message, and
 * returns undefined.
 */
export function callPlugin<Result>(call: () => Result, plugin: PluginCode, findings: Findings): Result | undefined {
  try {
    return call();
  } catch (error) {
    const message = `${plugin.name} failed: ${failureReason(error, plugin)}`;
    if (plugin.severity === "error") findings.error(plugin.code, plugin.key, plugin.path, message);
    else findings.warn(plugin.code, plugin.key, plugin.path, message);
    return undefined;
  }
}

function failureReason(error: unknown, { node, schema }: PluginCode): string {
  const message = errorMessage(error);
  if (message.includes("during synchronous parse")) return "asynchronous schemas are not supported";
  const secrets = hiddenTexts(node, schema).filter((text) => text.length > 2);
  return secrets.reduce((text, secret) => text.replaceAll(secret, REDACTED), withoutSecretTexts(message));
}

/**
 * Values that must not appear in a component's error message: secrets, values from variables, and values without a
 * schema.
 */
function hiddenTexts(node: Node, schema: z.ZodType): string[] {
  const all = scalars(node);
  const secrets = new Set<Span>(isOpaqueSchema(schema) ? all : secretSpans(node, [schema]));
  return all.filter((scalar) => scalar.substituted || secrets.has(scalar)).map(({ text }) => text);
}

function scalars(node: Node): ScalarNode[] {
  if (node.kind === "scalar") return [node];
  const inner = node.kind === "list" ? node.items : [...node.entries.values()].map(({ value }) => value);
  return inner.flatMap(scalars);
}
