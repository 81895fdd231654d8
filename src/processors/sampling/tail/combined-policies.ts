import type { CreatePolicy } from "./policy.js";

/** Samples a trace if all of the policies want it. */

export function andPolicy(policies: readonly CreatePolicy[]): CreatePolicy {
  return (context) => {
    const evaluations = policies.map((create) => create(context));
    return (trace) => evaluations.every((evaluate) => evaluate(trace));
  };
}

export function notPolicy(policy: CreatePolicy): CreatePolicy {
  return (context) => {
    const evaluate = policy(context);
    return (trace) => !evaluate(trace);
  };
}

interface LimitedPolicy {
  readonly create: CreatePolicy;
  /** Spans per second that the policy may let through. */
  readonly spansPerSecond: number;
}

/**
 * The first policy that wants a trace decides: the trace is sampled if that policy has spans left in this second. Later
 * policies are not asked, even if it has none left.
 */
export function compositePolicy(policies: readonly LimitedPolicy[], maxSpansPerSecond: number): CreatePolicy {
  return (context) => {
    const limited = policies.map(({ create, spansPerSecond }) => ({
      evaluate: create(context),
      limit: Math.min(spansPerSecond, maxSpansPerSecond),
      spent: 0,
    }));
    let second = -1;
    return (trace) => {
      const now = Math.floor(context.clock.monotonic() / 1000);
      if (now !== second) for (const one of limited) one.spent = 0;
      second = now;
      const chosen = limited.find(({ evaluate }) => evaluate(trace));
      if (chosen === undefined || chosen.spent + trace.spanCount > chosen.limit) return false;
      chosen.spent += trace.spanCount;
      return true;
    };
  };
}
