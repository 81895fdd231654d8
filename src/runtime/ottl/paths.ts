import { encodedKey } from "../telemetry/views/attributes.js";
import type { Access, Key, Pick } from "./access.js";
import type { ContextName } from "./context.js";
import { OttlError } from "./error.js";
import { indexed, mapKey, withIndexed } from "./indexing.js";
import { checkSize } from "./limits.js";
import { fields, type PathTable } from "./path-table.js";
import { DATA_POINT_PATHS } from "./paths-datapoint.js";
import { LOG_PATHS } from "./paths-log.js";
import { METRIC_PATHS } from "./paths-metric.js";
import { SPAN_EVENT_PATHS, SPAN_PATHS } from "./paths-span.js";
import type { Scene } from "./scene.js";
import { isMap, type OttlMap, type OttlValue, typeName } from "./value.js";

export type { PathTable } from "./path-table.js";

const record: Pick = (scene) => scene.record;
const resource: Pick = (scene) => scene.resource.here();
const scope: Pick = (scene) => scene.scope.here();

const RESOURCE_PATHS: PathTable = {
  attributes: { type: "map", make: (keys) => attributesAccess(resource, keys) },
  ...fields(resource, { dropped_attributes_count: ["droppedAttributesCount", "uint32"] }),
  ...fields((scene) => scene.resourceContainer.here(), { schema_url: ["schemaUrl", "text"] }),
};

const SCOPE_PATHS: PathTable = {
  attributes: { type: "map", make: (keys) => attributesAccess(scope, keys) },
  ...fields(scope, {
    name: ["name", "text"],
    version: ["version", "text"],
    dropped_attributes_count: ["droppedAttributesCount", "uint32"],
  }),
  ...fields((scene) => scene.scopeContainer.here(), { schema_url: ["schemaUrl", "text"] }),
};

const CACHE: PathTable = { cache: { type: "map", make: cacheAccess } };
const withAttributes = (pick: Pick, table: PathTable, name = "attributes"): PathTable => ({
  [name]: { type: "map", make: (keys) => attributesAccess(pick, keys) },
  ...table,
});

const spanPaths = withAttributes((scene) => scene.span.here(), SPAN_PATHS);
const metricPaths = withAttributes((scene) => scene.metric.here(), METRIC_PATHS, "metadata");

const OWN: Readonly<Record<ContextName, PathTable>> = {
  resource: RESOURCE_PATHS,
  scope: SCOPE_PATHS,
  log: withAttributes(record, LOG_PATHS),
  span: withAttributes(record, SPAN_PATHS),
  spanevent: withAttributes(record, SPAN_EVENT_PATHS),
  metric: metricPaths,
  datapoint: withAttributes(record, DATA_POINT_PATHS),
};

const SCOPES: Readonly<Record<string, PathTable>> = {
  resource: RESOURCE_PATHS,
  scope: SCOPE_PATHS,
  instrumentation_scope: SCOPE_PATHS,
};

/** Messages around a context's own, by the name that leads to them. */
const AROUND: Readonly<Record<ContextName, Readonly<Record<string, PathTable>>>> = {
  resource: {},
  scope: { resource: RESOURCE_PATHS, instrumentation_scope: SCOPE_PATHS },
  log: SCOPES,
  span: SCOPES,
  spanevent: { ...SCOPES, span: spanPaths },
  metric: SCOPES,
  datapoint: { ...SCOPES, metric: metricPaths },
};

/** All paths of a context by their dotted names: its own with and without its name in front, then those around it. */
export const PATHS: Readonly<Record<ContextName, PathTable>> = {
  resource: pathsOf("resource"),
  scope: pathsOf("scope"),
  log: pathsOf("log"),
  span: pathsOf("span"),
  spanevent: pathsOf("spanevent"),
  metric: pathsOf("metric"),
  datapoint: pathsOf("datapoint"),
};

function pathsOf(context: ContextName): PathTable {
  const own = { ...OWN[context], ...CACHE };
  const all: Record<string, PathTable[string]> = {};
  for (const [prefix, table] of Object.entries(AROUND[context])) addAll(all, `${prefix}.`, table);
  addAll(all, `${context}.`, own);
  addAll(all, "", own);
  return all;
}

function addAll(all: Record<string, PathTable[string]>, prefix: string, table: PathTable): void {
  for (const [name, spec] of Object.entries(table)) all[prefix + name] = spec;
}

/** The attributes of a message, one of them, or what lies inside one. */
export function attributesAccess(pick: Pick, keys: readonly Key[]): Access {
  const first = keys[0];
  if (first === undefined) return wholeAttributes(pick);
  if (keys.length === 1 && typeof first.literal === "string") return oneAttribute(pick, first.literal);
  return {
    get: (scene) => {
      const key = mapKey(first, scene);
      const value = pick(scene).attribute(key, encodedKey(key));
      return value === null && keys.length > 1 && !pick(scene).hasAttribute(key, encodedKey(key))
        ? null
        : indexed(value, keys, scene, 1);
    },
    set: (scene, value) => {
      const key = mapKey(first, scene);
      const level = pick(scene);
      const current = level.attribute(key, encodedKey(key));
      level.setAttribute(key, encodedKey(key), withIndexed(current, keys, 1, scene, value));
    },
  };
}

function wholeAttributes(pick: Pick): Access {
  return {
    attributes: pick,
    get: (scene) => pick(scene).attributes(),
    set: (scene, value) => pick(scene).setAttributes(asMap(value)),
  };
}

function oneAttribute(pick: Pick, key: string): Access {
  const encoded = encodedKey(key);
  return {
    attribute: { pick, key, encoded },
    get: (scene) => pick(scene).attribute(key, encoded),
    set: (scene, value) => pick(scene).setAttribute(key, encoded, value),
  };
}

function cacheAccess(keys: readonly Key[]): Access {
  if (keys.length === 0) {
    return {
      get: (scene) => scene.cache,
      set: (scene, value) => {
        checkSize(value);
        scene.cache = asMap(value);
      },
    };
  }
  return {
    get: (scene) => indexed(scene.cache, keys, scene),
    set: (scene: Scene, value: OttlValue) => {
      checkSize(value);
      scene.cache = withIndexed(scene.cache, keys, 0, scene, value) as OttlMap;
    },
  };
}

function asMap(value: OttlValue): OttlMap {
  if (value === null) return new Map();
  if (!isMap(value)) throw new OttlError(`expected a map, got ${typeName(value)}`);
  return value;
}
