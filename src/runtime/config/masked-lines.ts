import type { z } from "zod";
import type { ComponentKind } from "../contract/component.js";
import { exporterSettingsSchema } from "../contract/exporter-settings.js";
import type { Registry } from "../registry.js";
import { parseId } from "./component-id.js";
import { SECTIONS } from "./components.js";
import type { MapNode, Span } from "./node.js";
import { parseYaml } from "./parse-yaml.js";
import type { Place } from "./problem.js";
import { maskedLine, REDACTED, secretSpans } from "./sensitive.js";
import { serviceSchema } from "./service-schema.js";
import type { Source } from "./source.js";

/**
 * Gives source lines for showing beside a problem. A value that is secret by its schema or by its key's name is not in
 * them, also when the file is broken elsewhere.
 */
export function maskedLines(root: MapNode | undefined, texts: ReadonlyMap<string, Source>, registry: Registry) {
  const hidden = new Map<string, readonly Span[]>();
  const spansOf = (source: Source) => {
    const known = hidden.get(source.name);
    if (known !== undefined) return known;
    const spans = [root, parseYaml(source, [])].flatMap((tree) =>
      tree?.kind === "map" ? secretsIn(tree, registry) : [],
    );
    const own = spans.filter((span) => span.source.name === source.name);
    hidden.set(source.name, own);
    return own;
  };
  return (place: Place): string | undefined => {
    const source = texts.get(place.file);
    const range = source?.lineRange(place.line);
    return source && range && maskedLine(cutOut(source, range, spansOf(source)));
  };
}

function secretsIn(root: MapNode, registry: Registry): Span[] {
  return [...root.entries].flatMap(([section, { value }]) => {
    if (section === "service") return secretSpans(value, [serviceSchema]);
    const kind = (SECTIONS as Record<string, ComponentKind | undefined>)[section];
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
