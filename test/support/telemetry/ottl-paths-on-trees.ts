import type { Tree } from "../../../src/runtime/otlp/json/tree.js";
import type { ContextName } from "../../../src/runtime/ottl/paths/context.js";
import { DATA_KINDS, listOf } from "./trees.js";

/**
 * A second opinion on paths: what each path of each context is in the decoded tree, written with nothing of the
 * language's own code. A thing is what a context is about, with the messages around it.
 */
export interface Thing {
  readonly resource: Tree;
  readonly scope: Tree;
  readonly log?: Tree;
  readonly span?: Tree;
  readonly spanevent?: Tree;
  readonly metric?: Tree;
  readonly datapoint?: Tree;
  readonly exemplar?: Tree;
  readonly index: number;
}

/** The things of a context in the order of the wire. Resources and scopes are their containers. */
export function thingsOf(context: ContextName, tree: Tree): Thing[] {
  const things: Thing[] = [];
  const suffix = ["Logs", "Spans", "Metrics"].find((name) => tree[`resource${name}`] !== undefined) ?? "Logs";
  for (const resource of listOf(tree, `resource${suffix}`)) {
    if (context === "resource") things.push({ resource, scope: {}, index: 0 });
    for (const scope of listOf(resource, `scope${suffix}`)) {
      if (context === "scope") things.push({ resource, scope, index: 0 });
      for (const [log, index] of indexed(scope, "logRecords", context === "log"))
        things.push({ resource, scope, log, index });
      for (const span of listOf(scope, "spans")) {
        if (context === "span") things.push({ resource, scope, span, index: 0 });
        for (const [spanevent, index] of indexed(span, "events", context === "spanevent"))
          things.push({ resource, scope, span, spanevent, index });
      }
      for (const metric of listOf(scope, "metrics")) {
        if (context === "metric") things.push({ resource, scope, metric, index: 0 });
        const data = metric[dataKind(metric) ?? ""] as Tree | undefined;
        for (const [datapoint, index] of indexed(data ?? {}, "dataPoints", context === "datapoint"))
          things.push({ resource, scope, metric, datapoint, index });
        for (const datapoint of listOf(data ?? {}, "dataPoints"))
          for (const [exemplar, index] of indexed(datapoint, "exemplars", context === "exemplar"))
            things.push({ resource, scope, metric, datapoint, exemplar, index });
      }
    }
  }
  return things;
}

function indexed(owner: Tree, list: string, wanted: boolean): [Tree, number][] {
  return wanted ? listOf(owner, list).map((item, i) => [item, i]) : [];
}

function dataKind(metric: Tree): (typeof DATA_KINDS)[number] | undefined {
  return DATA_KINDS.find((kind) => metric[kind] !== undefined);
}

export type Kind = "text" | "int" | "uint" | "double" | "bool" | "time" | "id8" | "id16" | "hex8" | "hex16";
type Fields = Readonly<Record<string, readonly [name: string, kind: Kind]>>;

const ids = (path: string, name: string, size: 8 | 16): Fields => ({
  [path]: [name, `id${size}`],
  [`${path}.string`]: [name, `hex${size}`],
});
const times = (path: string, name: string): Fields => ({
  [path]: [name, "time"],
  [`${path}_unix_nano`]: [name, "uint"],
});

const DROPPED = { dropped_attributes_count: ["droppedAttributesCount", "int"] } as const;
const OWN: Readonly<Record<ContextName, Fields>> = {
  resource: DROPPED,
  scope: { ...DROPPED, name: ["name", "text"], version: ["version", "text"] },
  log: {
    ...DROPPED,
    ...times("time", "timeUnixNano"),
    ...times("observed_time", "observedTimeUnixNano"),
    ...ids("trace_id", "traceId", 16),
    ...ids("span_id", "spanId", 8),
    severity_number: ["severityNumber", "int"],
    severity_text: ["severityText", "text"],
    flags: ["flags", "int"],
    event_name: ["eventName", "text"],
  },
  span: {
    ...DROPPED,
    ...times("start_time", "startTimeUnixNano"),
    ...times("end_time", "endTimeUnixNano"),
    ...ids("trace_id", "traceId", 16),
    ...ids("span_id", "spanId", 8),
    ...ids("parent_span_id", "parentSpanId", 8),
    name: ["name", "text"],
    kind: ["kind", "int"],
    trace_state: ["traceState", "text"],
    dropped_events_count: ["droppedEventsCount", "int"],
    dropped_links_count: ["droppedLinksCount", "int"],
    flags: ["flags", "int"],
  },
  spanevent: { ...DROPPED, ...times("time", "timeUnixNano"), name: ["name", "text"] },
  metric: { name: ["name", "text"], description: ["description", "text"], unit: ["unit", "text"] },
  datapoint: {
    ...times("time", "timeUnixNano"),
    ...times("start_time", "startTimeUnixNano"),
    flags: ["flags", "int"],
  },
  exemplar: {
    ...times("time", "timeUnixNano"),
    ...ids("trace_id", "traceId", 16),
    ...ids("span_id", "spanId", 8),
  },
};

export interface TreePath {
  readonly path: string;
  readonly kind: Kind;
  /** The message that has the field, and the field's name in it. */
  readonly at: (thing: Thing) => { readonly message: Tree; readonly name: string };
}

const OWNERS: Readonly<Record<ContextName, readonly ContextName[]>> = {
  resource: ["resource"],
  scope: ["scope", "resource"],
  log: ["log", "scope", "resource"],
  span: ["span", "scope", "resource"],
  spanevent: ["spanevent", "span", "scope", "resource"],
  metric: ["metric", "scope", "resource"],
  datapoint: ["datapoint", "metric", "scope", "resource"],
  exemplar: ["exemplar", "datapoint", "metric", "scope", "resource"],
};

/** The paths of a context that are plain fields, with the name of their message in front. */
export function fieldPaths(context: ContextName): TreePath[] {
  return OWNERS[context].flatMap((owner) => [
    ...Object.entries(OWN[owner]).map(
      ([path, [name, kind]]): TreePath => ({
        path: `${owner}.${path}`,
        kind,
        at: (thing) => ({ message: messageOf(owner, thing), name }),
      }),
    ),
    ...(owner === "resource" || owner === "scope"
      ? [
          {
            path: `${owner}.schema_url`,
            kind: "text" as const,
            at: (t: Thing) => ({ message: t[owner], name: "schemaUrl" }),
          },
        ]
      : []),
  ]);
}

/** The messages of a context that have attributes: the path to them, and the message (made if it is not there). */
export function attributeOwners(context: ContextName): { path: string; of: (thing: Thing) => Tree; list: string }[] {
  return OWNERS[context].map((owner) => ({
    path:
      owner === "metric"
        ? "metric.metadata"
        : owner === "exemplar"
          ? "exemplar.filtered_attributes"
          : `${owner}.attributes`,
    of: (thing) => messageOf(owner, thing),
    list: owner === "metric" ? "metadata" : owner === "exemplar" ? "filteredAttributes" : "attributes",
  }));
}

function messageOf(owner: ContextName, thing: Thing): Tree {
  if (owner !== "resource" && owner !== "scope") return thing[owner]!;
  return (thing[owner][owner] ??= {}) as Tree;
}

export type PathValue = string | bigint | number | boolean | { readonly time: bigint } | { readonly id: string };

/** Returns a plain field; the default of its kind if it is not set. */
export function fieldOf({ at, kind }: TreePath, thing: Thing): PathValue {
  const { message, name } = at(thing);
  const raw = message[name];
  switch (kind) {
    case "text":
      return (raw as string | undefined) ?? "";
    case "int":
    case "uint":
      return BigInt.asIntN(64, BigInt((raw as bigint | number | undefined) ?? 0));
    case "time":
      return { time: BigInt.asIntN(64, (raw as bigint | undefined) ?? 0n) };
    case "double":
      return (raw as number | undefined) ?? 0;
    case "bool":
      return (raw as boolean | undefined) ?? false;
    default: {
      const size = Number(kind.replace(/\D/g, ""));
      const bytes = raw as Uint8Array | undefined;
      const hex = bytes?.length === size ? Buffer.from(bytes).toString("hex") : "00".repeat(size);
      return kind.startsWith("hex") ? hex : { id: hex };
    }
  }
}
