import type { z } from "zod";
import type { ConfigPath } from "#contract/schema";
import { durationText, parseDuration } from "#contract/schema";
import { isNull, type Node, placeOf, type ScalarNode, type Span } from "../text/node.js";
import type { Problem } from "../text/problem.js";
import {
  entriesOf,
  itemsOf,
  type SchemaEntry,
  type SchemaValue,
  type SchemaVisitor,
  visitSchema,
  withFirstSchema,
} from "./visit-schema.js";
import { formatsOf, metaOf } from "./zod-schema.js";

/** Warnings about accepted but questionable values: keys without effect, deprecated keys, durations without a unit. */
export function usageWarnings(node: Node, schema: z.ZodType, path: ConfigPath): Problem[] {
  return warningsOf({ node, schemas: [schema], path });
}

function warningsOf(value: SchemaValue): Problem[] {
  return value.schemas.length === 0 ? [] : visitSchema(withFirstSchema(value), WARNINGS);
}

const WARNINGS: SchemaVisitor<Problem[]> = {
  scalar: ({ node, schemas, path }) => durationWarnings(node, schemas[0]!, path),
  list: (list) => itemsOf(list).flatMap(warningsOf),
  map: (map) =>
    entriesOf(map).flatMap((entry) => {
      const warnings = keyWarnings(entry);
      return warnings.length > 0 ? warnings : warningsOf(entry);
    }),
};

function keyWarnings({ node, name, known, keySpan, path }: SchemaEntry): Problem[] {
  const schema = known.get(name);
  if (schema === undefined || isNull(node)) return [];
  const notes = metaOf(schema);
  if (typeof notes.ignored === "string")
    return [warning("ignored_key", keySpan, path, `"${name}" has no effect: ${notes.ignored}`)];
  if (notes.deprecated !== true) return [];
  const instead = notes.instead === undefined ? "" : `: ${notes.instead}`;
  return [warning("deprecated_key", keySpan, path, `"${name}" is deprecated and still works${instead}`)];
}

function durationWarnings(node: ScalarNode, schema: z.ZodType, path: ConfigPath): Problem[] {
  if (!formatsOf(schema).includes("duration") || !/^[0-9]+$/.test(node.text.trim())) return [];
  const ms = parseDuration(node.text.trim());
  if (ms === undefined || ms === 0) return [];
  const message = "a duration without a unit is in nanoseconds, as in the Collector";
  const advice = node.substituted ? "add a unit, such as 5s" : `write ${durationText(ms)} for this`;
  const seconds = node.substituted || ms >= 1 ? "" : `, or ${node.text}s for seconds`;
  return [{ ...warning("integer_duration", node, path, message), suggestion: advice + seconds }];
}

function warning(code: Problem["code"], span: Span, path: ConfigPath, message: string): Problem {
  return { severity: "warning", code, place: placeOf(span), path: path.join("."), message };
}
