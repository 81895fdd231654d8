import type { TailSamplingConfig } from "./config.js";
import type { Decision, TailMetrics } from "./metrics.js";
import type { Evaluate, PolicyContext, WholeTrace } from "./policy.js";

/**
 * Evaluates the policies: a trace is dropped if any drop policy wants that, otherwise sampled if any policy wants it.
 */
export class Decider {
  private readonly policies: readonly { name: string; isDrop: boolean; evaluate: Evaluate }[];
  private readonly isFirstMatchEnough: boolean;
  private readonly metrics: TailMetrics;

  constructor(config: TailSamplingConfig, context: PolicyContext, metrics: TailMetrics) {
    this.policies = config.policies.map(({ name, isDrop, create }) => ({ name, isDrop, evaluate: create(context) }));
    this.isFirstMatchEnough = config.isFirstMatchEnough;
    this.metrics = metrics;
  }

  decide(trace: WholeTrace): Decision {
    let decision: Decision = "not_sampled";
    for (const { name, isDrop, evaluate } of this.policies) {
      const isWanted = this.ask(evaluate, trace);
      if (isWanted === undefined) continue;
      this.metrics.policyDecided(name, isWanted ? (isDrop ? "dropped" : "sampled") : "not_sampled");
      if (isWanted && isDrop) return "dropped";
      if (isWanted) decision = "sampled";
      if (isWanted && this.isFirstMatchEnough) break;
    }
    return decision;
  }

  /** Returns undefined if the policy failed; it is then ignored. */
  private ask(evaluate: Evaluate, trace: WholeTrace): boolean | undefined {
    try {
      return evaluate(trace);
    } catch {
      this.metrics.policyFailures.add(1);
      return undefined;
    }
  }
}
