/** Properties of the agent, with the warnings about its config. */
export interface AgentFacts {
  readonly name: string;
  readonly version: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly pipelines: readonly string[];
  readonly warnings: readonly ConfigWarning[];
}

/** A warning about the config, and its place: `gateway.yaml:3:7`. */
export interface ConfigWarning {
  readonly message: string;
  readonly place?: string;
}
