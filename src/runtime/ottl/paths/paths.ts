import { encodedKey } from "#otlp/bytes";
import { OttlError } from "../values/error.js";
import { isMap, type OttlMap, type OttlValue, typeName } from "../values/value.js";
import { checkStorable } from "../values/wire-value.js";
import type { ContextName } from "./context.js";
import { ownMessage } from "./editable-message.js";
import { getAtKeys, mapKey, setAtKeys } from "./indexing.js";
import type { PathAccess, PathKey, SelectMessage } from "./path-access.js";
import { fieldPaths, type PathTable } from "./path-table.js";
import { LOG_PATHS } from "./paths-log.js";
import { dataPointPaths, EXEMPLAR_PATHS, METRIC_PATHS } from "./paths-metric.js";
import { REQUEST_PATHS } from "./paths-otelcol.js";
import { SPAN_EVENT_PATHS, SPAN_PATHS } from "./paths-span.js";
import type { RecordContext } from "./record-context.js";

export type { PathTable } from "./path-table.js";

const resource: SelectMessage = (ctx) => ctx.around.resource.current();
const scope: SelectMessage = (ctx) => ctx.around.scope.current();

const RESOURCE_PATHS: PathTable = {
  attributes: { type: "map", compile: (keys) => attributesAccess(resource, keys) },
  ...fieldPaths(resource, { dropped_attributes_count: ["droppedAttributesCount", "uint32"] }),
  ...fieldPaths((ctx) => ctx.around.resourceContainer.current(), { schema_url: ["schemaUrl", "text"] }),
};

const SCOPE_PATHS: PathTable = {
  attributes: { type: "map", compile: (keys) => attributesAccess(scope, keys) },
  ...fieldPaths(scope, {
    name: ["name", "text"],
    version: ["version", "text"],
    dropped_attributes_count: ["droppedAttributesCount", "uint32"],
  }),
  ...fieldPaths((ctx) => ctx.around.scopeContainer.current(), { schema_url: ["schemaUrl", "text"] }),
};

const CACHE_PATHS: PathTable = { cache: { type: "map", compile: cacheAccess } };
const withAttributes = (select: SelectMessage, table: PathTable, name = "attributes"): PathTable => ({
  [name]: { type: "map", compile: (keys) => attributesAccess(select, keys) },
  ...table,
});

const spanPaths = withAttributes((ctx) => ctx.around.span.current(), SPAN_PATHS);
const pointPaths = withAttributes(
  (ctx) => ctx.around.point.current(),
  dataPointPaths((ctx) => ctx.around.point.current()),
);
const metricPaths = withAttributes((ctx) => ctx.around.metric.current(), METRIC_PATHS, "metadata");

const OWN_PATHS: Readonly<Record<ContextName, PathTable>> = {
  resource: RESOURCE_PATHS,
  scope: SCOPE_PATHS,
  log: withAttributes(ownMessage, LOG_PATHS),
  span: withAttributes(ownMessage, SPAN_PATHS),
  spanevent: withAttributes(ownMessage, SPAN_EVENT_PATHS),
  metric: metricPaths,
  datapoint: withAttributes(ownMessage, dataPointPaths(ownMessage)),
  exemplar: withAttributes(ownMessage, EXEMPLAR_PATHS, "filtered_attributes"),
};

const RESOURCE_AND_SCOPE_PATHS: Readonly<Record<string, PathTable>> = {
  resource: RESOURCE_PATHS,
  scope: SCOPE_PATHS,
  instrumentation_scope: SCOPE_PATHS,
};

/** Messages around a context's own, by the name that leads to them. */
const SURROUNDING_PATHS: Readonly<Record<ContextName, Readonly<Record<string, PathTable>>>> = {
  resource: {},
  scope: { resource: RESOURCE_PATHS },
  log: RESOURCE_AND_SCOPE_PATHS,
  span: RESOURCE_AND_SCOPE_PATHS,
  spanevent: { ...RESOURCE_AND_SCOPE_PATHS, span: spanPaths },
  metric: RESOURCE_AND_SCOPE_PATHS,
  datapoint: { ...RESOURCE_AND_SCOPE_PATHS, metric: metricPaths },
  exemplar: { ...RESOURCE_AND_SCOPE_PATHS, metric: metricPaths, datapoint: pointPaths },
};

/**
 * All paths of a context by their dotted names: its own with and without the context's name, then those of the messages
 * around it.
 */
export const PATHS: Readonly<Record<ContextName, PathTable>> = {
  resource: allPathsOf("resource"),
  scope: allPathsOf("scope"),
  log: allPathsOf("log"),
  span: allPathsOf("span"),
  spanevent: allPathsOf("spanevent"),
  metric: allPathsOf("metric"),
  datapoint: allPathsOf("datapoint"),
  exemplar: allPathsOf("exemplar"),
};

function allPathsOf(context: ContextName): PathTable {
  const ownPaths = { ...OWN_PATHS[context], ...CACHE_PATHS };
  const all: Record<string, PathTable[string]> = {};
  for (const [prefix, table] of Object.entries(SURROUNDING_PATHS[context])) addPrefixed(all, `${prefix}.`, table);
  addPrefixed(all, "otelcol.", REQUEST_PATHS);
  addPrefixed(all, `${context}.`, ownPaths);
  addPrefixed(all, "", ownPaths);
  return all;
}

function addPrefixed(all: Record<string, PathTable[string]>, prefix: string, table: PathTable): void {
  for (const [name, spec] of Object.entries(table)) all[prefix + name] = spec;
}

/** The attributes of a message, one of them, or a part of one. */
function attributesAccess(select: SelectMessage, keys: readonly PathKey[]): PathAccess {
  const first = keys[0];
  if (first === undefined) return wholeAttributes(select);
  if (keys.length === 1 && typeof first.literal === "string") return oneAttribute(select, first.literal);
  return {
    get: (ctx) => {
      const key = mapKey(first, ctx);
      const value = select(ctx).attribute(key, encodedKey(key));
      return value === null && keys.length > 1 && !select(ctx).hasAttribute(key, encodedKey(key))
        ? null
        : getAtKeys(value, keys, ctx, 1);
    },
    set: (ctx, value) => {
      const key = mapKey(first, ctx);
      const message = select(ctx);
      const current = message.attribute(key, encodedKey(key));
      message.setAttribute(key, encodedKey(key), setAtKeys(current, keys, 1, ctx, value));
    },
  };
}

function wholeAttributes(select: SelectMessage): PathAccess {
  return {
    attributes: select,
    get: (ctx) => select(ctx).attributes(),
    set: (ctx, value) => select(ctx).setAttributes(mapOrEmpty(value)),
  };
}

function oneAttribute(select: SelectMessage, key: string): PathAccess {
  const encoded = encodedKey(key);
  return {
    attribute: { select, key, encoded },
    get: (ctx) => select(ctx).attribute(key, encoded),
    set: (ctx, value) => select(ctx).setAttribute(key, encoded, value),
    mayMatch: (ctx, pattern) => select(ctx).mayMatch(key, encoded, pattern),
  };
}

function cacheAccess(keys: readonly PathKey[]): PathAccess {
  if (keys.length === 0) {
    return {
      get: (ctx) => ctx.cache,
      set: (ctx, value) => {
        checkStorable(value);
        ctx.cache = mapOrEmpty(value);
      },
    };
  }
  return {
    get: (ctx) => getAtKeys(ctx.cache, keys, ctx),
    set: (ctx: RecordContext, value: OttlValue) => {
      checkStorable(value);
      ctx.cache = setAtKeys(ctx.cache, keys, 0, ctx, value) as OttlMap;
    },
  };
}

function mapOrEmpty(value: OttlValue): OttlMap {
  if (value === null) return new Map();
  if (!isMap(value)) throw new OttlError(`expected a map, got ${typeName(value)}`);
  return value;
}
