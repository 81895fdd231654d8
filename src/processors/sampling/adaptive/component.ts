import { SharedRedis, sharedRedisOf } from "#brokers";
import { withResource } from "#contract/operators";
import { defineProcessor, eachBatch, type ProcessorContext } from "../../../plugin.js";
import { AdaptiveRules } from "./adaptive-rules.js";
import { type AdaptiveSamplingConfig, adaptiveSamplingSchema } from "./config.js";
import { CountExchange } from "./count-exchange.js";
import { RateFactor, SPIKE_FACTOR } from "./rate-factor.js";
import { RateSampler } from "./rate-sampler.js";

/**
 * Keeps records with a probability that depends on their content, on the load and on the number of errors. Dropped
 * records are acknowledged and counted; kept records carry the rate that they were kept with.
 */
export const adaptiveSampling = defineProcessor<AdaptiveSamplingConfig>({
  type: "adaptive_sampling",
  summary: "Samples by severity, event and value; keeps everything during error spikes, less under load.",
  signals: ["logs", "traces"],
  zone: "sampling",
  schema: adaptiveSamplingSchema,
  create(config, context) {
    const signal = context.signal === "logs" ? "logs" : "traces";
    const { rateFactor, counts } = rateFactorOf(config, context);
    const rules = new AdaptiveRules(signal, config, rateFactor);
    const sampler = new RateSampler(signal, { seed: config.hash_seed, random: context.random }, rules);
    const processor = eachBatch((batch) => {
      rateFactor.addRecords(batch.count);
      const kept = sampler.sample(batch);
      rules.report(context.metrics);
      return kept.count === 0 && batch.count > 0 ? null : kept;
    });
    return withResource(processor, counts);
  },
});

interface SharedRateFactor {
  readonly rateFactor: RateFactor;
  /** Exchanges counts with other agents; undefined if agents do not share them. */
  readonly counts: CountExchange | undefined;
}

/**
 * All pipelines of one processor share the load and error counts, so that logs and spans of a trace get the same
 * decision.
 */
const rateFactors = new WeakMap<AdaptiveSamplingConfig, SharedRateFactor>();

function rateFactorOf(config: AdaptiveSamplingConfig, context: ProcessorContext): SharedRateFactor {
  const known = rateFactors.get(config);
  if (known !== undefined) return known;
  const { id, clock, metrics, logger } = context;
  const rateFactor = new RateFactor(config, clock, (isSpike) => {
    if (isSpike) logger.warn({}, "many errors: sampling is off until there are fewer");
    else logger.info({}, "fewer errors: sampling is on again");
  });
  const shared = sharedRedisOf(config);
  const counts =
    shared &&
    new CountExchange(
      new SharedRedis(shared, context, { processor: id }),
      `${shared.prefix}:{${id}}`,
      clock,
      rateFactor,
    );
  rateFactors.set(config, { rateFactor, counts });
  metrics.gauge(
    "sluice_adaptive_sampling_factor",
    { description: "The factor for all rates under load; 1 during an error spike." },
    () => Math.min(1, rateFactor.now()),
  );
  metrics.gauge(
    "sluice_adaptive_sampling_error_spike",
    { description: "1 while everything is kept because of an error spike." },
    () => (rateFactor.now() === SPIKE_FACTOR ? 1 : 0),
  );
  return { rateFactor, counts };
}
