import { labelName } from "#metrics";
import { type PlainAttributes, plainValueText } from "#otlp/json";
import { SEVERITY_NUMBER_NAMES } from "#otlp/signals";

/** The formats of lines. */
export const LINE_FORMATS = ["json", "logfmt", "raw"] as const;
export type LokiFormat = (typeof LINE_FORMATS)[number];

/** Attributes that control how a record is sent. They are not sent themselves. */
export const HINTS = {
  attributes: "loki.attribute.labels",
  resource: "loki.resource.labels",
  format: "loki.format",
  tenant: "loki.tenant",
} as const;

/** The common prefix of all hints. */
export const HINT_PREFIX = "loki.";
export const HINT_NAMES: ReadonlySet<string> = new Set(Object.values(HINTS));

/** The labels of records in addition to those of their hints. */
interface StreamLabelSettings {
  readonly exporter: boolean;
  readonly job: boolean;
  readonly instance: boolean;
  readonly level: boolean;
  /** Attribute keys and the labels they become. */
  readonly attributes: readonly (readonly [key: string, label: string])[];
  readonly resource: readonly (readonly [key: string, label: string])[];
}

/** The labels of a record, and the attributes they were made of. */
interface RecordLabels {
  /** The labels as Loki writes them; empty if there are none. */
  readonly text: string;
  /** Keys of the record's attributes that became labels. */
  readonly taken: ReadonlySet<string>;
  /** Keys of the resource's attributes that became labels. */
  readonly takenFromResource: ReadonlySet<string>;
}

/**
 * Chooses the labels of records by the settings and their hints. Hints and attributes that became labels are removed.
 */
export class StreamLabels {
  private readonly settings: StreamLabelSettings;

  constructor(settings: StreamLabelSettings) {
    this.settings = settings;
  }

  of(attributes: PlainAttributes, resource: PlainAttributes, severityNumber: number): RecordLabels {
    const { settings } = this;
    const labels = new Map<string, string>();
    const promoted = { attributes: new Set<string>(), resource: new Set<string>() };
    const promote = (from: "attributes" | "resource", key: string, label: string) => {
      const value = lookUp(key, from === "attributes" ? attributes : resource);
      if (value === undefined) return;
      labels.set(label, plainValueText(value));
      promoted[from].add(key);
    };
    addDefaults(labels, resource, settings);
    for (const [key, label] of settings.resource) promote("resource", key, label);
    for (const [key, label] of settings.attributes) promote("attributes", key, label);
    const resourceHints = [...namesOf(resource[HINTS.resource]), ...namesOf(attributes[HINTS.resource])];
    for (const key of resourceHints) promote("resource", key, key);
    for (const key of namesOf(attributes[HINTS.attributes])) promote("attributes", key, key);
    if (settings.level && severityNumber > 0) {
      if (attributes["level"] === undefined)
        labels.set("level", SEVERITY_NUMBER_NAMES[severityNumber]?.toUpperCase() ?? String(severityNumber));
      else promote("attributes", "level", "level");
    }
    return {
      text: labelText(labels),
      taken: promoted.attributes,
      takenFromResource: promoted.resource,
    };
  }

  /** Whether labels depend on the severity. */
  get hasLevel(): boolean {
    return this.settings.level;
  }

  /** Returns the keys of record attributes that the labels depend on, in addition to the given hints. */
  keysRead(hints: PlainAttributes): string[] {
    const names = [...this.settings.attributes.map(([key]) => key), ...namesOf(hints[HINTS.attributes])];
    return [...(this.settings.level ? ["level"] : []), ...names.flatMap(lookupKeys)];
  }
}

function addDefaults(labels: Map<string, string>, resource: PlainAttributes, settings: StreamLabelSettings): void {
  const { "service.name": name, "service.namespace": namespace, "service.instance.id": instance } = resource;
  if (settings.exporter) labels.set("exporter", "OTLP");
  if (settings.job && name !== undefined)
    labels.set(
      "job",
      namespace === undefined ? plainValueText(name) : `${plainValueText(namespace)}/${plainValueText(name)}`,
    );
  if (settings.instance && instance !== undefined) labels.set("instance", plainValueText(instance));
}

/** A hint names attributes in a list, or in a text separated by commas. */
function namesOf(hint: unknown): string[] {
  if (hint === undefined || hint === null) return [];
  const names = Array.isArray(hint) ? hint.map(plainValueText) : plainValueText(hint).split(",");
  return names.map((name) => name.trim()).filter((name) => name !== "");
}

/** Returns the attribute of this name, or for `a.b` the member `b` of the map `a`. */
function lookUp(name: string, map: PlainAttributes): unknown {
  if (Object.hasOwn(map, name)) return map[name];
  for (const dot of dotsIn(name)) {
    const outer = name.slice(0, dot);
    const inner = Object.hasOwn(map, outer) ? map[outer] : undefined;
    if (typeof inner === "object" && inner !== null && !Array.isArray(inner) && !(inner instanceof Uint8Array))
      return lookUp(name.slice(dot + 1), inner as PlainAttributes);
  }
  return undefined;
}

/** Returns the keys under which `lookUp` may find this name. */
function lookupKeys(name: string): string[] {
  return [name, ...dotsIn(name).map((dot) => name.slice(0, dot))];
}

/** Longer names are not looked for in maps, because that takes time and memory quadratic in their length. */
const MAX_PATH_LENGTH = 256;

/** Returns the positions where a name may be split, the last one first. */
function dotsIn(name: string): number[] {
  const dots: number[] = [];
  if (name.length > MAX_PATH_LENGTH) return dots;
  for (let dot = name.lastIndexOf("."); dot > 0; dot = name.lastIndexOf(".", dot - 1)) dots.push(dot);
  return dots;
}

/** Returns the attributes without these keys and without hints. */
export function without(map: PlainAttributes, keys: ReadonlySet<string>): PlainAttributes {
  const isExcluded = (name: string) => keys.has(name) || HINT_NAMES.has(name);
  if (!Object.keys(map).some(isExcluded)) return map;
  return Object.fromEntries(Object.entries(map).filter(([name]) => !isExcluded(name)));
}

/** Labels are sorted, so that equal labels form the same stream. A label without a value is left out. */
function labelText(labels: ReadonlyMap<string, string>): string {
  const named = new Map<string, string>();
  for (const [key, value] of labels) {
    const name = labelName(key, { allowUtf8: false });
    if (name !== "" && value !== "") named.set(name, value);
  }
  if (named.size === 0) return "";
  const sorted = [...named].sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${sorted.map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(", ")}}`;
}
