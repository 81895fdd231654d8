import type { ResolvedConfig } from "./config/spec.js";
import type { Logger, Metrics } from "./contract/observability.js";

/** Stands in for the agent on this branch. */
export class Agent {
  readonly state: string = "starting";
  readonly config: ResolvedConfig;

  constructor(config: ResolvedConfig, _options: { logger: Logger; metrics: Metrics }) {
    this.config = config;
  }
  async start(): Promise<void> {}
  async stop(_timeoutMs: number): Promise<void> {}
  abort(): void {}
}
