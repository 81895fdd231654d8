import type { Problem } from "#config/text";
import type { MetricsSnapshot } from "#workers";
import type { ConfigSnapshot } from "../../rehearsal/process/child-frames.js";

/** The command line of the processes that an agent with several workers starts. */
export const WORKER_COMMAND = "worker-child";

/**
 * The orders that a worker gets when it starts. The texts of the config contain secrets, and go through the pipe between
 * the processes only.
 */
export interface Assignment {
  readonly number: number;
  readonly count: number;
  /** A private directory for the sockets between the workers. */
  readonly socketDirectory: string;
  /** Workers of the same agent show it to each other. */
  readonly key: Uint8Array;
  /** True after crashes in a row. */
  readonly careful: boolean;
  /** The arguments of `--config` and `--set`. */
  readonly config: readonly string[];
  readonly set: readonly string[];
  /** The value of the command line, which takes precedence over the config. */
  readonly shutdownTimeoutMs: number | undefined;
  readonly snapshot: ConfigSnapshot;
}

/** The first message of a worker. Messages that are sent to it earlier are lost. */
export const LISTENING = "listening";

/** The last message of a worker that ends in order. */
export interface LastMetrics {
  readonly lastMetrics: MetricsSnapshot;
}

/** The result of a start or reload: problems of the config if it failed. */
export interface StartAnswer {
  readonly problems: readonly Problem[];
}
