import { plainGoNumber } from "#text/go";
import { compilePattern, type Pattern } from "#text/patterns";
import type { SpanView, Value } from "../../plugin.js";
import type { SpanConfig } from "./config.js";

type SpanChange = (span: SpanView) => void;

const STATUS_CODES: Readonly<Record<string, number>> = { Unset: 0, Ok: 1, Error: 2 };

/** The changes of the processor `span`, in the Collector's order. */
export function createSpanChange({ name, status }: SpanConfig): SpanChange {
  const changes: SpanChange[] = [];
  if (name !== undefined && name.from_attributes.length > 0)
    changes.push(nameFromAttributes(name.from_attributes, name.separator));
  if (name?.to_attributes !== undefined) changes.push(attributesFromName(name.to_attributes));
  if (status !== undefined) {
    const next = { code: STATUS_CODES[status.code]!, message: status.code === "Error" ? status.description : "" };
    changes.push((span) => {
      const { code, message } = span.status;
      if (code !== next.code || message !== next.message) span.status = next;
    });
  }
  return (span) => {
    for (const change of changes) change(span);
  };
}

/** A span that lacks one of the attributes keeps its name. */
function nameFromAttributes(keys: readonly string[], separator: string): SpanChange {
  return (span) => {
    const parts: string[] = [];
    for (const key of keys) {
      const value = span.attributes.get(key);
      if (value === undefined) return;
      parts.push(textOf(value));
    }
    const name = parts.join(separator);
    if (name !== span.name) span.name = name;
  };
}

/** The Collector writes this for maps, lists and bytes. */
const UNKNOWN_TYPE = "<unknown-attribute-type>";

function textOf(value: Value): string {
  if (typeof value === "string") return value;
  if (typeof value === "boolean" || typeof value === "bigint") return String(value);
  return typeof value === "number" ? plainGoNumber(value) : UNKNOWN_TYPE;
}

type SpanNameRules = NonNullable<NonNullable<SpanConfig["name"]>["to_attributes"]>;

/** Each rule sees the name that the rule before it has made. */
function attributesFromName({
  rules,
  break_after_match: isFirstEnough,
  keep_original_name: keeps,
}: SpanNameRules): SpanChange {
  const patterns = rules.map(compilePattern);
  return (span) => {
    for (const pattern of patterns) {
      const { name } = span;
      const groups = name === "" ? undefined : pattern.groupSpans(name);
      if (groups === undefined) continue;
      const renamed = takeApart(span, name, pattern, groups);
      if (!keeps && renamed !== name) span.name = renamed;
      if (isFirstEnough) return;
    }
  };
}

/** Sets the attributes, and returns the name with the groups' names in place of their texts. */
function takeApart(
  span: SpanView,
  name: string,
  { groupNames }: Pattern,
  groups: readonly (readonly [number, number] | undefined)[],
): string {
  let renamed = "";
  let done = 0;
  for (const [i, group] of groups.entries()) {
    if (group === undefined) continue;
    const [start, end] = group;
    span.attributes.set(groupNames[i]!, name.slice(start, end));
    // A group inside of another one is an attribute only.
    if (start < done) continue;
    renamed += `${name.slice(done, start)}{${groupNames[i]!}}`;
    done = end;
  }
  return renamed + name.slice(done);
}
