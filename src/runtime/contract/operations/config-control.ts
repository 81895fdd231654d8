import type { ConfigWarning } from "../inspect/graph.js";
import type { Operator } from "./audit.js";

/** The change that a reload makes, or would make, to one component. */
interface ReloadChange {
  readonly kind: string;
  readonly id: string;
  /** The pipeline of a processor. */
  readonly pipeline?: string;
  readonly action: "keep" | "replace" | "add" | "remove";
  /** Why it is replaced: names of keys, never values. */
  readonly reasons: readonly string[];
}

/**
 * How a reload ended. `applied`: the new config runs. `unchanged`: it is the config that runs. `planned`: nothing was
 * done, as asked. `invalid`: the config has errors. `rolled_back`: a component could not be started. After the last two
 * the old config runs on.
 */
export type ReloadOutcome = "applied" | "unchanged" | "planned" | "invalid" | "rolled_back";

/** The result of a reload. */
export interface ReloadReport {
  readonly outcome: ReloadOutcome;
  /** The config that runs after the reload. */
  readonly generation: ConfigGeneration;
  /** Components that are not the same, or would not be. */
  readonly changes: readonly ReloadChange[];
  /** Number of components that stay as they are. */
  readonly kept: number;
  /** Other keys whose new values take effect at once. */
  readonly settings: readonly string[];
  /** Keys whose new values take effect when the agent is started again. */
  readonly afterRestart: readonly string[];
  /** Errors and warnings of the new config. */
  readonly problems: readonly (ConfigWarning & { readonly severity: "error" | "warning"; readonly code: string })[];
}

/** The config that an agent runs with. */
export interface ConfigGeneration {
  /** 1 after a start, one more after each reload. */
  readonly number: number;
  /** A short hash of the config's values. Secrets cannot be guessed from it. */
  readonly hash: string;
  /** Milliseconds since the epoch. */
  readonly loadedAt: number;
}

/** How a reload is done. */
export interface ReloadOptions {
  /** Only tells what would change. */
  readonly dryRun?: boolean;
  /** The user who asks for it, for the audit. */
  readonly operator?: Operator | undefined;
  /** The hash of the config that the files must contain. */
  readonly expected?: string | undefined;
}

/** Access to the config of a running agent. */
export interface ConfigControl {
  readonly generation: ConfigGeneration;
  /** The last reload; undefined before the first one. */
  readonly lastReload?: (Pick<ReloadReport, "outcome" | "problems"> & { readonly at: number }) | undefined;
  /** Whether the files of the config differ from what runs. */
  differs(): Promise<boolean>;
  /**
   * Never rejects because of the config. Calls that come at the same time are joined. With `expected`, rejects with an
   * `AdminError` if the files contain another config by now, or if another reload is under way.
   */
  reload(options?: ReloadOptions): Promise<ReloadReport>;
}

/** A file of a config that a management server has sent. It is merged after the agent's own files. */
export interface RemoteConfigFile {
  readonly name: string;
  readonly text: string;
}

/** How a remote config was taken. */
export interface RemoteConfigResult {
  readonly isApplied: boolean;
  /** Its problems, a line each, without secrets. */
  readonly problems: readonly string[];
}

/** Takes remote configs through the agent's own reload. */
export interface RemoteConfigControl {
  /** Why the remote config that was kept from an earlier run is not in use; undefined if it is, or if there is none. */
  readonly startProblem?: string | undefined;
  /**
   * Replaces the former remote config; no files mean none. If the whole config is invalid or cannot be started, the
   * former one runs on. Never rejects.
   */
  apply(files: readonly RemoteConfigFile[]): Promise<RemoteConfigResult>;
}
