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
