import type { CreatePolicy } from "./policy.js";

/** Policies made of policies. */

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

export interface LimitedPolicy {
  readonly create: CreatePolicy;
  /** Spans a second that it may let through. */
  readonly spansPerSecond: number;
}

/**
 * The first policy that wants a trace decides: it is sampled if the policy has spans left in this second. One that has
 * none left wants it all the same, and later policies are not asked.
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
