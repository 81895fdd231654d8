import type { z } from "zod";
import type { ConfigPath } from "../../contract/schema/schema.js";
import { parseDuration } from "../../contract/schema/schema.js";
import { isNull, type MapNode, type Node, placeOf, type ScalarNode, type Span } from "../text/node.js";
import type { Problem } from "../text/problem.js";
import { durationText } from "./duration-text.js";
import { knownKey } from "./schema-input.js";
import { baseSchemas, childSchemas, keysOf, metaOf } from "./zod-schema.js";

/** Warnings for what is accepted but should be known: keys without effect, deprecated keys, durations without a unit. */
export function usageWarnings(node: Node, schema: z.ZodType, path: ConfigPath): Problem[] {
  if (node.kind === "scalar") return durationWarnings(node, schema, path);
  if (node.kind === "list") return node.items.flatMap((item, i) => childWarnings(item, schema, i, [...path, i]));
  return mapWarnings(node, schema, path);
}

function mapWarnings(node: MapNode, schema: z.ZodType, path: ConfigPath): Problem[] {
  const known = keysOf(schema);
  return [...node.entries].flatMap(([key, entry]) => {
    const name = knownKey(key, known, node.entries);
    const keyPath = [...path, key];
    const child = known.get(name);
    const warnings = child && !isNull(entry.value) ? keyWarnings(name, child, entry.key, keyPath) : [];
    return warnings.length > 0 ? warnings : childWarnings(entry.value, schema, name, keyPath);
  });
}

function childWarnings(node: Node, schema: z.ZodType, key: string | number, path: ConfigPath): Problem[] {
  const [child] = childSchemas(schema, key);
  return child === undefined ? [] : usageWarnings(node, child, path);
}

function keyWarnings(name: string, schema: z.ZodType, key: Span, path: ConfigPath): Problem[] {
  const notes = metaOf(schema);
  if (typeof notes.ignored === "string")
    return [warning("ignored_key", key, path, `"${name}" has no effect: ${notes.ignored}`)];
  if (notes.deprecated !== true) return [];
  const instead = notes.instead === undefined ? "" : `: ${notes.instead}`;
  return [warning("deprecated_key", key, path, `"${name}" is deprecated and still works${instead}`)];
}

function durationWarnings(node: ScalarNode, schema: z.ZodType, path: ConfigPath): Problem[] {
  const isDuration =
    metaOf(schema).format === "duration" || baseSchemas(schema).some((b) => metaOf(b).format === "duration");
  if (!isDuration || !/^[0-9]+$/.test(node.text.trim())) return [];
  const ms = parseDuration(node.text.trim());
  if (ms === undefined || ms === 0) return [];
  const message = "a duration without a unit counts nanoseconds, as in the Collector";
  const advice = node.substituted ? "add a unit, such as 5s" : `write ${durationText(ms)} for this`;
  const seconds = node.substituted || ms >= 1 ? "" : `, or ${node.text}s for seconds`;
  return [{ ...warning("integer_duration", node, path, message), suggestion: advice + seconds }];
}

function warning(code: Problem["code"], span: Span, path: ConfigPath, message: string): Problem {
  return { severity: "warning", code, place: placeOf(span), path: path.join("."), message };
}
