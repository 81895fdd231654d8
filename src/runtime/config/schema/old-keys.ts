import type { ConfigPath } from "#contract/schema";
import { isNull, type MapEntry, type MapNode, mapNode, placeOf } from "../text/node.js";
import type { Problem } from "../text/problem.js";

/** Former keys of the Collector, and their successors. */
const SUCCESSORS: Readonly<Record<string, readonly string[]>> = {
  address: ["endpoint"],
  ca_file: ["tls", "ca_file"],
  cert_file: ["tls", "cert_file"],
  cert_pem_file: ["tls", "ca_file"],
  cors_allowed_headers: ["cors", "allowed_headers"],
  cors_allowed_origins: ["cors", "allowed_origins"],
  cors_max_age: ["cors", "max_age"],
  insecure: ["tls", "insecure"],
  insecure_skip_verify: ["tls", "insecure_skip_verify"],
  key_file: ["tls", "key_file"],
  log_level: ["verbosity"],
  loglevel: ["verbosity"],
  num_workers: ["sending_queue", "num_consumers"],
  per_rpc_auth: ["auth"],
  queue: ["sending_queue"],
  queue_size: ["sending_queue", "queue_size"],
  retry: ["retry_on_failure"],
  secure: ["tls", "insecure"],
  server_name_override: ["tls", "server_name_override"],
  tls_credentials: ["tls"],
  tls_settings: ["tls"],
  url: ["endpoint"],
};

/** Keys that early Collectors had beside `endpoint`, and that mean the same under `tls`. */
const ONCE_FLAT = ["ca_file", "cert_file", "insecure", "insecure_skip_verify", "key_file", "server_name_override"];

/**
 * Moves TLS keys at the top of a component's config to `tls`, where its schema knows that key and not the flat one. Keys
 * that are under `tls` already win. Each moved key gets a warning.
 */
export function withTlsKeysMoved(
  node: MapNode,
  known: ReadonlyMap<string, unknown>,
  path: ConfigPath,
): { readonly node: MapNode; readonly warnings: readonly Problem[] } {
  const moved = ONCE_FLAT.flatMap((name) => {
    const entry = known.has(name) ? undefined : node.entries.get(name);
    return entry === undefined ? [] : [[name, entry] as const];
  });
  const tls = node.entries.get("tls");
  const canHold = tls === undefined || tls.value.kind === "map" || isNull(tls.value);
  if (moved.length === 0 || !known.has("tls") || !canHold) return { node, warnings: [] };
  const under = tls?.value.kind === "map" ? tls.value.entries : [];
  const { key } = tls ?? moved[0]![1];
  const entries = new Map<string, MapEntry>(node.entries);
  for (const [name] of moved) entries.delete(name);
  entries.set("tls", { key, value: mapNode(key, new Map([...moved, ...under])) });
  const warnings = moved.map(
    ([name, entry]): Problem => ({
      severity: "warning",
      code: "deprecated_key",
      place: placeOf(entry.key),
      path: [...path, name].join("."),
      message: `"${name}" is deprecated and still works: write it under tls`,
    }),
  );
  return { node: mapNode(node, entries), warnings };
}

/** The successor of an old key if it is among the known keys; undefined otherwise. */
export function successorOf(key: string, known: readonly string[]): string | undefined {
  const path = SUCCESSORS[key.toLowerCase()];
  if (path === undefined || !known.includes(path[0]!)) return undefined;
  const [first, second] = path;
  return second === undefined ? `it became "${first}"` : `it became "${second}" under "${first}"`;
}

/**
 * The current path of an old key, and how to convert its value; `value` returns undefined for values that it cannot
 * convert.
 */
export interface KeyRewrite {
  readonly path: readonly string[];
  readonly value: (written: string) => string | undefined;
}

/**
 * How to rewrite an old key (unknown today, or deprecated), given its dotted path. Undefined if the value has a
 * different form today, so that only a person can rewrite it.
 */
export function keyRewrite(key: string, dottedPath: string): KeyRewrite | undefined {
  const name = key.toLowerCase();
  if (name === "per_rpc_auth") return undefined;
  if (dottedPath === "service.telemetry.metrics.address") return { path: ["readers"], value: readersAt };
  if (name === "port") return { path: ["endpoint"], value: localEndpoint };
  const path = SUCCESSORS[name];
  return path && { path, value: (written) => translated(name, written) };
}

function localEndpoint(port: string): string | undefined {
  return /^\d+$/.test(port) ? `127.0.0.1:${port}` : undefined;
}

function readersAt(address: string): string | undefined {
  const [, host, port] = /^([\w.-]+):(\d+)$/.exec(address) ?? [];
  return host && `[{pull: {exporter: {prometheus: {host: "${host}", port: ${port}}}}}]`;
}

/** Values that were renamed along with their key. */
const VALUES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  log_level: { debug: "detailed", info: "normal", warn: "basic", error: "basic" },
  loglevel: { debug: "detailed", info: "normal", warn: "basic", error: "basic" },
  secure: { true: "false", false: "true" },
};

function translated(key: string, written: string): string | undefined {
  const words = VALUES[key];
  return words === undefined ? written : words[written.toLowerCase()];
}
