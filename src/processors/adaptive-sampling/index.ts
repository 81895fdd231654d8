import { defineProcessor, eachBatch, type ProcessorContext, RateSampler } from "../../plugin.js";
import { type AdaptiveConfig, adaptiveSchema } from "./config.js";
import { Pressure, SPIKE } from "./pressure.js";
import { AdaptiveRules } from "./rules.js";

/**
 * Keeps records with a probability that depends on what they are, on the load and on how many errors there are. What
 * is dropped is acknowledged and counted; what is kept carries the rate it was kept with.
 */
export const adaptiveSampling = defineProcessor<AdaptiveConfig>({
  type: "adaptive_sampling",
  summary: "Samples by severity, event and value; keeps everything during error spikes, less under load.",
  signals: ["logs", "traces"],
  zone: "sampling",
  schema: adaptiveSchema,
  create(config, context) {
    const signal = context.signal === "logs" ? "logs" : "traces";
    const pressure = pressureOf(config, context);
    const rules = new AdaptiveRules(signal, config, pressure);
    const sampler = new RateSampler(signal, { seed: config.hash_seed, random: context.random }, rules);
    return eachBatch((batch) => {
      pressure.arrived(batch.count);
      const kept = sampler.sample(batch);
      rules.report(context.metrics);
      return kept.count === 0 && batch.count > 0 ? null : kept;
    });
  },
});

/** All pipelines that one processor is in see the same load and the same errors: a trace's logs and spans go alike. */
const pressures = new WeakMap<AdaptiveConfig, Pressure>();

function pressureOf(config: AdaptiveConfig, { clock, metrics, logger }: ProcessorContext): Pressure {
  const known = pressures.get(config);
  if (known !== undefined) return known;
  const pressure = new Pressure(config, clock, (isSpike) => {
    if (isSpike) logger.warn({}, "many errors: sampling is off until there are fewer");
    else logger.info({}, "fewer errors: sampling is on again");
  });
  pressures.set(config, pressure);
  metrics.gauge(
    "sluice_adaptive_sampling_factor",
    { description: "What the rates are multiplied with under load; 1 during an error spike." },
    () => Math.min(1, pressure.factorNow()),
  );
  metrics.gauge("sluice_adaptive_sampling_error_spike", { description: "1 while all is kept for the errors." }, () =>
    pressure.factorNow() === SPIKE ? 1 : 0,
  );
  return pressure;
}
