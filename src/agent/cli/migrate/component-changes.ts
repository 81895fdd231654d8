import { type Document, isMap, isScalar, isSeq, type Scalar, visit, type YAMLSeq } from "yaml";
import type { LoadedConfig } from "#config";
import { currentType, flowYaml, noEffectReason, otlpInstead } from "#config/resolve";
import { parseId, SECTIONS, type SectionName } from "#config/schema";
import type { MapNode } from "#config/text";
import {
  pairEnd,
  pairNamed,
  pairsOf,
  removeItems,
  removePair,
  replaceIn,
  resolvedValue,
  type TextEdit,
  type TextPair,
} from "./yaml-edits.js";

/** One independent change of a config. Without edits, it reports a change that could not be made. */
export interface ConfigChange {
  readonly action: "renamed" | "removed" | "left";
  /** Path of the changed part, as it was before the change. */
  readonly path: string;
  readonly message: string;
  readonly edits: readonly TextEdit[];
}

/**
 * Finds all components of a config that have a new name today, that were removed and do nothing, or that send to a
 * vendor who takes OTLP.
 */
export function componentChanges(
  text: string,
  document: Document.Parsed,
  { tree, registry }: Pick<LoadedConfig, "tree" | "registry">,
): ConfigChange[] {
  const names = new ConfigNames(text, document, tree);
  return (Object.keys(SECTIONS) as SectionName[]).flatMap((section) =>
    names.definitions(section).flatMap((pair) => {
      const id = parseId(String(pair.key.value));
      if (id === undefined) return [];
      const type = currentType(SECTIONS[section], id.type, registry);
      if (type !== undefined) return [renaming(names, section, pair, id, type)];
      if (registry.get(SECTIONS[section], id.type) !== undefined) return [];
      if (section === "exporters") return replacement(names, pair, id);
      const reason = noEffectReason(SECTIONS[section], id.type);
      // file_storage stays: current Collectors have it, queues refer to it, and it does no harm.
      if (reason === undefined || id.type === "file_storage") return [];
      return [removal(names, section, pair, id.id, reason)];
    }),
  );
}

function renaming(
  names: ConfigNames,
  section: SectionName,
  pair: TextPair,
  { id, type }: { readonly id: string; readonly type: string },
  newType: string,
): ConfigChange {
  const path = `${section}.${id}`;
  const newId = newType + id.slice(type.length);
  const left = (reason: string): ConfigChange => {
    return {
      action: "left",
      path,
      message: `${type} is now called ${newType}; it was not renamed, because ${reason}`,
      edits: [],
    };
  };
  if (names.has(section, newId)) return left(`there is a ${newId} too`);
  if (names.hasVariables(section)) return left("a variable lists components and may contain its name");
  const edits = [pair.key, ...names.references(section, id)].map((node) => replaceIn(names.text, node, type, newType));
  if (edits.includes(undefined)) return left("its name is written in a way that cannot be changed safely");
  return { action: "renamed", path, message: `${id} is ${newId}`, edits: edits as TextEdit[] };
}

/** Replaces the exporter of a vendor by one of OTLP. */
function replacement(
  names: ConfigNames,
  pair: TextPair,
  { id, type }: { readonly id: string; readonly type: string },
): ConfigChange[] {
  const value = resolvedValue(names.document, pair);
  const written = isMap(value) ? (value.toJS(names.document) as Readonly<Record<string, unknown>>) : {};
  const otlp = otlpInstead(type, written);
  if (otlp === undefined) {
    const reason = noEffectReason("exporter", type);
    return reason === undefined ? [] : [removal(names, "exporters", pair, id, reason)];
  }
  const path = `exporters.${id}`;
  const newId = `${otlp.type}/${id.replace("/", "-")}`;
  const config = flowYaml(otlp.config);
  const left = (why: string): ConfigChange[] => [
    { action: "left", path, message: `the vendor accepts OTLP: write ${newId}: ${config}; ${why}`, edits: [] },
  ];
  if (!otlp.isComplete) return left("fill in the values in angle brackets yourself");
  if (names.has("exporters", newId)) return left(`there is a ${newId} too`);
  if (names.hasVariables("exporters")) return left("a variable lists components and may contain its name");
  const references = names
    .references("exporters", id)
    .map((node) => replaceIn(names.text, node, String(node.value).trim(), newId));
  if (references.includes(undefined)) return left("its name is written in a way that cannot be changed safely");
  const definition = { start: pair.key.range![0], end: pairEnd(names.text, pair), text: `${newId}: ${config}` };
  const edits = [definition, ...(references as TextEdit[])];
  return [{ action: "renamed", path, message: `${id} is ${newId}: the vendor accepts OTLP`, edits }];
}

function removal(names: ConfigNames, section: SectionName, pair: TextPair, id: string, reason: string): ConfigChange {
  const path = `${section}.${id}`;
  const left = (why: string): ConfigChange => ({ action: "left", path, message: `${why}; ${reason}`, edits: [] });
  const lists = names.lists(section);
  const alone = lists.find(({ isEnd, list }) => isEnd && list.items.every((item) => isReference(item, id)));
  if (alone !== undefined && alone.list.items.length > 0)
    return left(`it does nothing, and ${alone.name} has nothing else`);
  if (names.hasVariables(section))
    return left("it does nothing; it was not removed, because a variable may contain its name");
  const owner = resolvedValue(names.document, pairNamed(names.document.contents, section));
  const edits = isMap(owner) ? [removePair(names.text, owner, pair)] : [undefined];
  for (const { owner: key, list } of lists) {
    edits.push(...(removeItems(names.text, key, list, (item) => isReference(item, id)) ?? [undefined]));
  }
  if (edits.includes(undefined))
    return left("it does nothing, but is written in a way that migrate cannot remove safely");
  return { action: "removed", path, message: reason.replace("; remove it", ""), edits: edits as TextEdit[] };
}

/** A list of component ids. */
interface ReferenceList {
  readonly name: string;
  readonly owner: TextPair;
  readonly list: YAMLSeq;
  /** True for receivers and exporters: a pipeline does not run without them. */
  readonly isEnd: boolean;
}

/** The places where a config defines components and refers to them. */
class ConfigNames {
  readonly text: string;
  readonly document: Document.Parsed;
  private readonly tree: MapNode | undefined;

  constructor(text: string, document: Document.Parsed, tree: MapNode | undefined) {
    this.text = text;
    this.document = document;
    this.tree = tree;
  }

  definitions(section: SectionName): TextPair[] {
    return pairsOf(resolvedValue(this.document, pairNamed(this.document.contents, section)));
  }

  /** Whether such a component exists, including one that comes from a merge key, a key with a path, or another file. */
  has(section: SectionName, id: string): boolean {
    const definitions = this.tree?.entries.get(section)?.value;
    return definitions?.kind === "map" && [...definitions.entries.keys()].some((name) => parseId(name)?.id === id);
  }

  /** The lists that may refer to components of a section. */
  lists(section: SectionName): ReferenceList[] {
    const service = resolvedValue(this.document, pairNamed(this.document.contents, "service"));
    if (section === "extensions") return this.listsIn(service, ["extensions"], "service");
    const keys = section === "connectors" ? ["receivers", "exporters"] : [section];
    const pipelines = pairsOf(resolvedValue(this.document, pairNamed(service, "pipelines")));
    return pipelines.flatMap((pipeline) =>
      this.listsIn(resolvedValue(this.document, pipeline), keys, `pipeline ${String(pipeline.key.value)}`),
    );
  }

  /** All references to this component. */
  references(section: SectionName, id: string): Scalar[] {
    const inLists = this.lists(section).flatMap(({ owner, list }) => {
      const key = String(owner.key.value) as SectionName;
      // In a pipeline, a receiver or exporter takes precedence over a connector of the same id.
      if (key !== section && this.has(key, id)) return [];
      return list.items.filter((item) => isReference(item, id));
    });
    return [...inLists, ...this.valuesOf(REFERENCE_KEYS[section] ?? []).filter((value) => isReference(value, id))];
  }

  /** Whether references to this section's components may be hidden in variables such as ${env:EXPORTER}. */
  hasVariables(section: SectionName): boolean {
    const items = this.lists(section).flatMap(({ list }) => list.items);
    const values = [...items, ...this.valuesOf(REFERENCE_KEYS[section] ?? []), ...this.scalarLists(section)];
    return values.some((value) => isScalar(value) && String(value.value).includes("$"));
  }

  private listsIn(map: unknown, keys: readonly string[], name: string): ReferenceList[] {
    return keys.flatMap((key) => {
      const owner = pairNamed(map, key);
      const list = resolvedValue(this.document, owner);
      const isEnd = key === "receivers" || key === "exporters";
      return owner !== undefined && isSeq(list) ? [{ name, owner, list, isEnd }] : [];
    });
  }

  /** Scalars in place of a list, a section or a pipeline: a variable there may expand to references. */
  private scalarLists(section: SectionName): unknown[] {
    const top = pairNamed(this.document.contents, "service");
    const service = resolvedValue(this.document, top);
    if (section === "extensions") return [service, resolvedValue(this.document, pairNamed(service, "extensions"))];
    const pipelines = resolvedValue(this.document, pairNamed(service, "pipelines"));
    const each = pairsOf(pipelines).map((pipeline) => resolvedValue(this.document, pipeline));
    const keys = section === "connectors" ? ["receivers", "exporters"] : [section];
    const lists = each.flatMap((map) => keys.map((key) => resolvedValue(this.document, pairNamed(map, key))));
    return [service, pipelines, ...each, ...lists];
  }

  private valuesOf(keys: readonly string[]): Scalar[] {
    const found: Scalar[] = [];
    visit(this.document, {
      Pair(_, { key, value }) {
        if (isScalar(key) && keys.includes(String(key.value)) && isScalar(value)) found.push(value);
      },
    });
    return found;
  }
}

/** Keys of components whose value is the id of another component. */
const REFERENCE_KEYS: Partial<Readonly<Record<SectionName, readonly string[]>>> = {
  extensions: ["authenticator", "additional_auth"],
  exporters: ["forward_to"],
};

function isReference(item: unknown, id: string): item is Scalar {
  return isScalar(item) && item.range != null && parseId(String(item.value))?.id === id;
}
