import type { Clock, Logger, Metrics } from "#contract";
import type { PluginTracker } from "#contract/border";
import type { BuiltInHost } from "#contract/built-in";
import type { WorkerPart } from "#contract/operations";
import type { WorkerExchange } from "#pipeline";
import type { ConfigFacts } from "./inspect-agent.js";

/** The options of an agent besides its config. */
export interface AgentOptions {
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock?: Clock;
  readonly random?: () => number;
  /** @internal Tracks which plugin's code is running. */
  readonly pluginTracker?: PluginTracker;
  /**
   * Runs a full garbage collection, to find deliveries that plugins have dropped. Only `sluice run` sets it: see
   * cli/v8.ts.
   */
  readonly collectGarbage?: () => void;
  /** True when some senders never see a refusal, so that refused data must be kept. */
  readonly keepsRefused?: boolean;
  /** @internal The workers that do the work of this agent, which has no pipelines itself. */
  readonly face?: AgentFace;
  /** @internal The parts of the config that extensions may show. */
  readonly configFacts?: ConfigFacts;
  /** @internal Which of several workers this is; undefined if the agent is one process. */
  readonly worker?: WorkerPart | undefined;
  /** @internal Moves data between the workers of an agent that has several. The agent starts and stops it. */
  readonly exchange?: WorkerExchange;
}

/** @internal The members of a `Host` that other processes answer, because they do the work of the agent. */
export interface AgentFace
  extends Required<Pick<BuiltInHost, "state" | "receivers">>,
    Pick<BuiltInHost, "admin" | "inspection" | "insight"> {
  readonly refresh: NonNullable<BuiltInHost["refresh"]>;
  readonly workers: NonNullable<BuiltInHost["workers"]>;
}
