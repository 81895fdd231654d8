import { agentConfig } from "../configs.js";

export interface SlowDiskShape {
  readonly backend: string;
  readonly queue: string;
  readonly adminPort: number;
  /** How many dead letters are kept; 0: no limit. */
  readonly maxDeadLetters?: number;
}

/** An agent that gives up after a few quick retries, so that an entry changes faster than a slow disk can write. */
export function slowDiskConfig({ backend, queue, adminPort, maxDeadLetters = 0 }: SlowDiskShape): object {
  const retry_on_failure = {
    initial_interval: "10ms",
    max_interval: "50ms",
    max_retries: 3,
    blame_entry_on: ["503"],
    rate_limit: { per_second: 10_000, burst: 1000 },
  };
  const exporter = {
    retry_on_failure,
    sending_queue: { num_consumers: 8, merge_backlog: false },
    circuit_breaker: { enabled: false },
    dead_letter: { max_entries: maxDeadLetters },
  };
  const config = agentConfig({ backend, queue, exporter, batch: false }) as {
    extensions: object;
    service: { extensions: string[] };
  };
  const admin = {
    endpoint: `127.0.0.1:${adminPort}`,
    tokens: [{ name: "operator", token: TOKEN, roles: ["view", "replay"] }],
  };
  return {
    ...config,
    extensions: { ...config.extensions, admin },
    service: { ...config.service, extensions: [...config.service.extensions, "admin"] },
  };
}

export const TOKEN = "token-of-the-operator";
