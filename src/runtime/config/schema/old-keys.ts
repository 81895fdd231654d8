/** Keys that the Collector once had, and where their meaning lives now. */
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

/** What to write in place of a key of old, where the keys that are known have its successor; undefined otherwise. */
export function successorOf(key: string, known: readonly string[]): string | undefined {
  const path = SUCCESSORS[key.toLowerCase()];
  if (path === undefined || !known.includes(path[0]!)) return undefined;
  const [first, second] = path;
  return second === undefined ? `it became "${first}"` : `it became "${second}" under "${first}"`;
}
