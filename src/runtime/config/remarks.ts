import type { z } from "zod";
import { parseDuration } from "../contract/schema.js";
import { durationText } from "./duration-text.js";
import { isNull, type MapNode, type Node, type Path, placeOf, type ScalarNode, type Span } from "./node.js";
import type { Problem } from "./problem.js";
import { bases, childSchemas, keysOf, notesOf } from "./shape.js";
import { knownKey } from "./shaped.js";

/** Warnings for what is accepted but should be known: keys without effect, deprecated keys, durations without a unit. */
export function remarksOn(node: Node, schema: z.ZodType, path: Path): Problem[] {
  if (node.kind === "scalar") return durationRemark(node, schema, path);
  if (node.kind === "list") return node.items.flatMap((item, i) => remarksOnChild(item, schema, i, [...path, i]));
  return remarksOnMap(node, schema, path);
}

function remarksOnMap(node: MapNode, schema: z.ZodType, path: Path): Problem[] {
  const known = keysOf(schema);
  return [...node.entries].flatMap(([key, entry]) => {
    const name = knownKey(key, known, node.entries);
    const keyPath = [...path, key];
    const child = known.get(name);
    const remark = child && !isNull(entry.value) ? keyRemark(name, child, entry.key, keyPath) : [];
    return remark.length > 0 ? remark : remarksOnChild(entry.value, schema, name, keyPath);
  });
}

function remarksOnChild(node: Node, schema: z.ZodType, key: string | number, path: Path): Problem[] {
  const [child] = childSchemas(schema, key);
  return child === undefined ? [] : remarksOn(node, child, path);
}

function keyRemark(name: string, schema: z.ZodType, key: Span, path: Path): Problem[] {
  const notes = notesOf(schema);
  if (typeof notes.ignored === "string")
    return [warning("ignored_key", key, path, `"${name}" has no effect: ${notes.ignored}`)];
  if (notes.deprecated !== true) return [];
  const instead = notes.instead === undefined ? "" : `: ${notes.instead}`;
  return [warning("deprecated_key", key, path, `"${name}" is deprecated and still works${instead}`)];
}

function durationRemark(node: ScalarNode, schema: z.ZodType, path: Path): Problem[] {
  const isDuration =
    notesOf(schema).format === "duration" || bases(schema).some((b) => notesOf(b).format === "duration");
  if (!isDuration || !/^[0-9]+$/.test(node.text.trim())) return [];
  const ms = parseDuration(node.text.trim());
  if (ms === undefined || ms === 0) return [];
  const words = "a duration without a unit counts nanoseconds, as in the Collector";
  const shown = node.substituted ? "add a unit, such as 5s" : `write ${durationText(ms)} for this`;
  const seconds = node.substituted || ms >= 1 ? "" : `, or ${node.text}s for seconds`;
  return [{ ...warning("integer_duration", node, path, words), suggestion: shown + seconds }];
}

function warning(code: string, span: Span, path: Path, message: string): Problem {
  return { severity: "warning", code, place: placeOf(span), path: path.join("."), message };
}
