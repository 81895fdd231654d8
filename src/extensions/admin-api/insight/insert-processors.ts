import type { GraphDescription } from "#contract/operations";
import { fieldsOf } from "#text/json";
import type { Signal } from "../../../plugin.js";

type Config = Readonly<Record<string, unknown>>;

/** A config with processors inserted, whole and as a file that can be merged after the present ones. */
interface ChangedConfig {
  readonly before: Config;
  readonly after: Config;
  /** Only what differs. Lists replace each other when configs are merged, so the lists of processors are whole. */
  readonly overlay: Config;
  readonly pipelines: readonly string[];
}

interface Insertion {
  readonly processors: Readonly<Record<string, unknown>>;
  readonly pipelines: readonly string[];
  /** Directly behind the receivers, because names are known there; otherwise in front of the exporters. */
  readonly isFirst: boolean;
}

/** Inserts processors into pipelines of a config. An id that the config has already gets a number. */
export function insertProcessors(config: Config, { processors, pipelines, isFirst }: Insertion): ChangedConfig {
  const known = fieldsOf(config["processors"]);
  const named = Object.entries(processors).map(([id, own]) => [freeId(id, known), own] as const);
  const ids = named.map(([id]) => id);
  const service = fieldsOf(config["service"]);
  const all = fieldsOf(service["pipelines"]);
  const changed: [string, Config][] = Object.entries(all)
    .filter(([id]) => pipelines.includes(id.replace(/\s/g, "")))
    .map(([id, each]) => {
      const pipeline = fieldsOf(each);
      const before = Array.isArray(pipeline["processors"]) ? (pipeline["processors"] as string[]) : [];
      return [id, { ...pipeline, processors: inserted(before, ids, isFirst) }];
    });
  const lists = changed.map(([id, { processors: list }]) => [id, { processors: list }]);
  return {
    before: config,
    after: {
      ...withKey(config, "processors", { ...known, ...Object.fromEntries(named) }),
      service: { ...service, pipelines: { ...all, ...Object.fromEntries(changed) } },
    },
    overlay: {
      processors: Object.fromEntries(named),
      service: { pipelines: Object.fromEntries(lists) },
    },
    pipelines: changed.map(([id]) => id),
  };
}

/** The pipelines of a signal that end in exporters, or in this one. */
export function pipelinesTo(graph: GraphDescription, signal: Signal, exporter: string | undefined): readonly string[] {
  const exporters = new Map(graph.nodes.filter(({ kind }) => kind === "exporter").map(({ id, name }) => [id, name]));
  const found = graph.edges.filter(({ to, signal: own }) => {
    const name = exporters.get(to);
    return own === signal && name !== undefined && (exporter === undefined || name === exporter);
  });
  return [...new Set(found.map(({ pipeline }) => pipeline))];
}

/** `memory_limiter` stays first and `batch` stays last. */
function inserted(list: readonly string[], ids: readonly string[], isFirst: boolean): readonly string[] {
  const isType = (id: string | undefined, type: string) => id?.split("/")[0]?.trim() === type;
  if (isFirst) {
    const at = isType(list[0], "memory_limiter") ? 1 : 0;
    return [...list.slice(0, at), ...ids, ...list.slice(at)];
  }
  const batch = list.findIndex((id) => isType(id, "batch"));
  const at = batch < 0 ? list.length : batch;
  return [...list.slice(0, at), ...ids, ...list.slice(at)];
}

function freeId(id: string, known: Config): string {
  for (let i = 1; ; i++) {
    const free = i === 1 ? id : `${id}_${i}`;
    if (!Object.hasOwn(known, free)) return free;
  }
}

/** Keeps the order of a config's sections: a new one comes before `service`. */
function withKey(config: Config, key: string, value: unknown): Config {
  if (Object.hasOwn(config, key)) return { ...config, [key]: value };
  const { service, ...others } = config;
  return { ...others, [key]: value, service };
}
