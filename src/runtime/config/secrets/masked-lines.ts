import type { z } from "zod";
import type { ComponentKind } from "#contract";
import { REDACTED, uncheckedExporterSettingsSchema } from "#contract/schema";
import type { Registry } from "../resolve/registry.js";
import { parseId, SECTIONS, type SectionName } from "../schema/component-id.js";
import { fullServiceSchema } from "../schema/service-schema.js";
import type { MapNode, Span } from "../text/node.js";
import { SET_SOURCE } from "../text/parse-set.js";
import { parseYaml } from "../text/parse-yaml.js";
import type { Place, Problem } from "../text/problem.js";
import type { SourceText } from "../text/source-text.js";
import { secretSpans } from "./find-secrets.js";
import { maskBrokenLine, maskParsedLine } from "./mask-line.js";

/**
 * Returns source lines for display with problems. Values that are secret because of their schema or key are masked,
 * even if the file is broken elsewhere.
 */
export function maskedLines(root: MapNode | undefined, texts: ReadonlyMap<string, SourceText>, registry: Registry) {
  const spansBySource = new Map<string, readonly Span[] | "broken">();
  return (place: Place): string | undefined => {
    const source = texts.get(place.file);
    const range = source?.lineRange(place.line);
    if (source === undefined || range === undefined) return undefined;
    const spans = spansBySource.get(source.name) ?? secretSpansOfSource(source, root, registry);
    spansBySource.set(source.name, spans);
    return spans === "broken" ? maskBrokenLine(source, place.line) : maskParsedLine(redactSpans(source, range, spans));
  };
}

/** The secrets in a source: those in the source itself, and those of the merged config that come from it. */
function secretSpansOfSource(
  source: SourceText,
  root: MapNode | undefined,
  registry: Registry,
): readonly Span[] | "broken" {
  const problems: Problem[] = [];
  const parsed = source.name === SET_SOURCE ? undefined : parseYaml(source, problems);
  if (problems.some(({ code, severity }) => severity === "error" && code !== "duplicate_key")) return "broken";
  const trees = [parsed, root].filter((tree) => tree?.kind === "map");
  return trees
    .flatMap((tree) => secretSpansOfConfig(tree, registry))
    .filter((span) => span.source.name === source.name);
}

/** The places of all secrets in a config, found by schema and by name. */
export function secretSpansOfConfig(root: MapNode, registry: Registry): Span[] {
  return [...root.entries].flatMap(([section, { value }]) => {
    if (section === "service") return secretSpans(value, [fullServiceSchema]);
    const kind = Object.hasOwn(SECTIONS, section) ? SECTIONS[section as SectionName] : undefined;
    if (kind === undefined || value.kind !== "map") return secretSpans(value, []);
    return [...value.entries].flatMap(([name, entry]) =>
      secretSpans(entry.value, componentSchemas(kind, name, registry)),
    );
  });
}

/** The schemas that apply to a component's config. */
export function componentSchemas(kind: ComponentKind, name: string, registry: Registry): z.ZodType[] {
  const factory = registry.get(kind, parseId(name)?.type ?? "");
  if (factory === undefined) return [];
  return kind === "exporter" ? [factory.schema, uncheckedExporterSettingsSchema] : [factory.schema];
}

function redactSpans(source: SourceText, line: { start: number; end: number }, spans: readonly Span[]): string {
  let text = "";
  let at = line.start;
  for (const span of spans.toSorted((a, b) => a.start - b.start)) {
    if (span.end <= at || span.start >= line.end || span.end === span.start) continue;
    text += source.text.slice(at, Math.max(at, span.start)) + REDACTED;
    at = Math.min(span.end, line.end);
  }
  return text + source.text.slice(at, line.end);
}
