import type { z } from "zod";
import type { ComponentKind } from "../contract/component.js";
import { exporterSettingsSchema } from "../contract/exporter-settings.js";
import type { Registry } from "../registry.js";
import { parseId } from "./component-id.js";
import { SECTIONS, type SectionName } from "./components.js";
import { SET_SOURCE } from "./merge.js";
import type { MapNode, Span } from "./node.js";
import { parseYaml } from "./parse-yaml.js";
import type { Place, Problem } from "./problem.js";
import { REDACTED, secretSpans } from "./sensitive.js";
import { shownServiceSchema } from "./service-schema.js";
import type { Source } from "./source.js";
import { brokenLine, maskedLine } from "./text-mask.js";

/**
 * Gives source lines for showing beside a problem. A value that is secret by its schema or by its key's name is not in
 * them, also when the file is broken elsewhere.
 */
export function maskedLines(root: MapNode | undefined, texts: ReadonlyMap<string, Source>, registry: Registry) {
  const known = new Map<string, readonly Span[] | "broken">();
  return (place: Place): string | undefined => {
    const source = texts.get(place.file);
    const range = source?.lineRange(place.line);
    if (source === undefined || range === undefined) return undefined;
    const spans = known.get(source.name) ?? hiddenSpans(source, root, registry);
    known.set(source.name, spans);
    return spans === "broken" ? brokenLine(source, place.line) : maskedLine(cutOut(source, range, spans));
  };
}

/** The secrets in a source: what it says by itself, and what it became in the merged config. */
function hiddenSpans(source: Source, root: MapNode | undefined, registry: Registry): readonly Span[] | "broken" {
  const problems: Problem[] = [];
  const own = source.name === SET_SOURCE ? undefined : parseYaml(source, problems);
  if (problems.some(({ code, severity }) => severity === "error" && code !== "duplicate_key")) return "broken";
  const trees = [own, root].filter((tree) => tree?.kind === "map");
  return trees.flatMap((tree) => secretsIn(tree, registry)).filter((span) => span.source.name === source.name);
}

function secretsIn(root: MapNode, registry: Registry): Span[] {
  return [...root.entries].flatMap(([section, { value }]) => {
    if (section === "service") return secretSpans(value, [shownServiceSchema]);
    const kind = Object.hasOwn(SECTIONS, section) ? SECTIONS[section as SectionName] : undefined;
    if (kind === undefined || value.kind !== "map") return secretSpans(value, []);
    return [...value.entries].flatMap(([name, entry]) => secretSpans(entry.value, schemasOf(kind, name, registry)));
  });
}

/** The schemas that a component's config is held against. */
export function schemasOf(kind: ComponentKind, name: string, registry: Registry): z.ZodType[] {
  const factory = registry.get(kind, parseId(name)?.type ?? "");
  if (factory === undefined) return [];
  return kind === "exporter" ? [factory.schema, exporterSettingsSchema] : [factory.schema];
}

function cutOut(source: Source, line: { start: number; end: number }, spans: readonly Span[]): string {
  let text = "";
  let at = line.start;
  for (const span of spans.toSorted((a, b) => a.start - b.start)) {
    if (span.end <= at || span.start >= line.end || span.end === span.start) continue;
    text += source.text.slice(at, Math.max(at, span.start)) + REDACTED;
    at = Math.min(span.end, line.end);
  }
  return text + source.text.slice(at, line.end);
}
