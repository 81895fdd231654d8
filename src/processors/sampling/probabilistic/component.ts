import { type Counter, defineProcessor, eachBatch } from "../../../plugin.js";
import { type ProbabilisticSamplerConfig, probabilisticSamplerSchema } from "./config.js";
import { ThresholdSampler, type ThresholdSamplerSettings } from "./threshold-sampler.js";

/**
 * Keeps a share of traces, or of log records, by a hash of the trace id, with the same decisions as the Collector's
 * processor of this name. Dropped records are acknowledged and counted.
 */
export const probabilisticSampler = defineProcessor<ProbabilisticSamplerConfig>({
  type: "probabilistic_sampler",
  summary: "Keeps a share of the traces or log records, the same in every agent.",
  signals: ["traces", "logs"],
  zone: "sampling",
  schema: probabilisticSamplerSchema,
  create(config, { signal, metrics }) {
    const noun = signal === "logs" ? "logs" : "traces";
    const [kept, dropped] = [new Map<string, Counter>(), new Map<string, Counter>()];
    const counterOf = (policy: string, sampled: boolean) => {
      const counters = sampled ? kept : dropped;
      let counter = counters.get(policy);
      if (counter === undefined) {
        counter = metrics.counter(metricName(noun), METRIC_OPTIONS, { policy, sampled: String(sampled) });
        counters.set(policy, counter);
      }
      return counter;
    };
    const sampler = new ThresholdSampler(noun, settingsOf(config), (policy, sampled, count) =>
      counterOf(policy, sampled).add(count),
    );
    return eachBatch((batch) => {
      const kept = sampler.sample(batch);
      return kept.count === 0 ? null : kept;
    });
  },
});

const metricName = (noun: string) => `otelcol_processor_probabilistic_sampler_count_${noun}_sampled`;
const METRIC_OPTIONS = {
  description: "Sampling decisions about records, by the source of randomness and the decision.",
};

function settingsOf(config: ProbabilisticSamplerConfig): ThresholdSamplerSettings {
  return {
    percentage: config.sampling_percentage,
    seed: config.hash_seed,
    mode: config.mode === "" ? "hash_seed" : config.mode,
    precision: config.sampling_precision,
    failClosed: config.fail_closed,
    fromTraceId: config.attribute_source === "traceID",
    fromAttribute: config.from_attribute,
    priorityAttribute: config.sampling_priority,
  };
}
