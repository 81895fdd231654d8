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
