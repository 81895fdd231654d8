import { randomUUID } from "node:crypto";
import { type BuiltInExtension, defineBuiltInExtension } from "#contract/built-in";
import type { LeaderElection } from "#contract/services";
import { kubernetesApi } from "#net/kubernetes";
import { pause, withTimeout } from "#resilience";
import { type ExtensionContext, limitedLog } from "../../plugin.js";
import { JITTER, type K8sLeaderElectorConfig, k8sLeaderElectorSchema } from "./config.js";
import { KubernetesLease } from "./lease.js";

/** Elects one leader among the agents of a cluster. */
export const k8sLeaderElector = defineBuiltInExtension<K8sLeaderElectorConfig>({
  type: "k8s_leader_elector",
  summary: "Elects one leader among the agents of a Kubernetes cluster; receivers that name it run only there.",
  serves: "leader_elector",
  schema: k8sLeaderElectorSchema,
  create: (config, context) => new LeaderElector(config, context),
});

/** How long the release of the lease may take when the agent stops. */
const RELEASE_MS = 1500;

/**
 * A candidate, while receivers follow it. It is the leader from the moment when the lease is its own until the lease
 * could not be renewed for `renew_deadline`, which is before others may take it.
 */
class LeaderElector implements BuiltInExtension {
  private readonly config: K8sLeaderElectorConfig;
  private readonly context: ExtensionContext;
  private readonly lease: KubernetesLease;
  private readonly followers = new Set<(isLeader: boolean) => void>();
  private readonly logFailure: (reason: string) => void;
  private isLeader = false;
  private end = () => {};
  private running: Promise<void> = Promise.resolve();
  readonly leaderElection: LeaderElection = { follow: (onChange) => this.follow(onChange) };

  constructor(config: K8sLeaderElectorConfig, context: ExtensionContext) {
    this.config = config;
    this.context = context;
    const { lease_namespace: namespace, lease_name: name, lease_duration: durationMs } = config;
    const { clock, logger } = context;
    this.lease = new KubernetesLease({
      api: kubernetesApi(config),
      namespace,
      name,
      identity: randomUUID(),
      durationMs,
      clock,
    });
    this.logFailure = limitedLog(clock, (reason, suppressed) =>
      logger.warn({ lease: `${namespace}/${name}`, reason, suppressed }, "the lease cannot be taken or renewed"),
    );
  }

  async start(): Promise<void> {}

  async stop(): Promise<void> {
    this.followers.clear();
    this.end();
    await this.running;
  }

  private follow(onChange: (isLeader: boolean) => void): () => void {
    this.followers.add(onChange);
    if (this.followers.size === 1) this.campaign();
    else if (this.isLeader) onChange(true);
    return () => {
      if (this.followers.delete(onChange) && this.followers.size === 0) this.end();
    };
  }

  private campaign(): void {
    const stopping = new AbortController();
    this.running = this.running.then(() => this.run(stopping.signal));
    this.end = () => stopping.abort();
  }

  private async run(stopped: AbortSignal): Promise<void> {
    const { clock, random } = this.context;
    const { retry_period: period, renew_deadline: deadline } = this.config;
    let heldAt = 0;
    while (!stopped.aborted) {
      const began = clock.monotonic();
      const left = this.isLeader ? Math.max(1, heldAt + deadline - began) : deadline;
      const isHeld = await this.tryHold(stopped, left);
      if (stopped.aborted) break;
      if (isHeld) heldAt = began;
      if (isHeld || !this.isLeader || isHeld === false || clock.monotonic() - heldAt >= deadline)
        this.tell(isHeld === true);
      await pause(this.isLeader ? period : period * (1 + (JITTER - 1) * random()), clock, stopped);
    }
    await this.leave();
  }

  /** Undefined if the leader is unknown. */
  private async tryHold(stopped: AbortSignal, timeoutMs: number): Promise<boolean | undefined> {
    try {
      return await withTimeout(timeoutMs, this.context.clock, [stopped], (signal) => this.lease.tryHold(signal));
    } catch (error) {
      if (!stopped.aborted) this.logFailure((error as Error).message);
      return undefined;
    }
  }

  private async leave(): Promise<void> {
    if (!this.isLeader) return;
    this.tell(false);
    const release = withTimeout(RELEASE_MS, this.context.clock, [], (signal) => this.lease.release(signal));
    await release.catch((error: Error) => this.logFailure(error.message));
  }

  private tell(isLeader: boolean): void {
    if (isLeader === this.isLeader) return;
    this.isLeader = isLeader;
    const { lease_namespace: namespace, lease_name: name } = this.config;
    const message = isLeader ? "this agent is the leader" : "this agent is no longer the leader";
    this.context.logger.info({ lease: `${namespace}/${name}` }, message);
    for (const follower of [...this.followers]) follower(isLeader);
  }
}
