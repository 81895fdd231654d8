import type { ProcessorContext } from "../../plugin.js";
import type { RateLimitConfig } from "./config.js";
import type { Judgement } from "./judge.js";

interface LimiterMetrics {
  count(judgement: Judgement): void;
}

/** Counts the decisions of the limiter, in records. */
export function limiterMetrics(
  onExcess: RateLimitConfig["onExcess"],
  { id, pipeline, metrics }: ProcessorContext,
  keys: () => number,
): LimiterMetrics {
  const labels = { processor: id, pipeline };
  const limited = (limit: "key" | "global") =>
    metrics.counter(
      "sluice_rate_limit_limited_items",
      { description: "Records over a limit, by limit and action." },
      { ...labels, limit, on_excess: onExcess },
    );
  const overKey = limited("key");
  const overGlobal = limited("global");
  const bypassed = metrics.counter(
    "sluice_rate_limit_bypassed_items",
    { description: "Records that passed without being counted, by a bypass rule." },
    labels,
  );
  const overflowed = metrics.counter(
    "sluice_rate_limit_overflowed_items",
    { description: "Records counted by the limit that keys beyond max_keys share." },
    labels,
  );
  metrics.gauge(
    "sluice_rate_limit_keys",
    { description: "Keys that currently have a limit of their own." },
    keys,
    labels,
  );
  return {
    count(judgement) {
      if (judgement.overKey > 0) overKey.add(judgement.overKey);
      if (judgement.overGlobal > 0) overGlobal.add(judgement.overGlobal);
      if (judgement.bypassed > 0) bypassed.add(judgement.bypassed);
      if (judgement.overflowed > 0) overflowed.add(judgement.overflowed);
    },
  };
}
