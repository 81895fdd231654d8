import { z } from "zod";
import { type Counter, defineProcessor, eachBatch } from "../../../plugin.js";
import { ThresholdSampler, type ThresholdSamplerSettings } from "./threshold-sampler.js";

const MIN_PERCENTAGE = 100 * 2 ** -56;

const schema = z.strictObject({
  sampling_percentage: z
    .number()
    .min(0)
    .refine((value) => value === 0 || value >= MIN_PERCENTAGE, "expected 0 or at least 1.4e-15")
    .default(0)
    .meta({ description: "How many of 100 traces or log records are kept. 100 and more keeps all." }),
  hash_seed: z
    .number()
    .int()
    .min(0)
    .max(0xffffffff)
    .default(0)
    .meta({ description: "Agents that should keep the same traces have the same seed. For the mode hash_seed." }),
  mode: z.enum(["hash_seed", "proportional", "equalizing", ""]).default("").meta({
    description:
      "hash_seed (the default) hashes the trace id; proportional and equalizing use OpenTelemetry's consistent sampling.",
  }),
  sampling_precision: z
    .number()
    .int()
    .min(1)
    .max(14)
    .default(4)
    .meta({ description: "Hex digits of the thresholds that are written on what is kept." }),
  fail_closed: z
    .boolean()
    .default(true)
    .meta({ description: "Drops what cannot be decided: no trace id, or sampling information that cannot be read." }),
  attribute_source: z
    .enum(["traceID", "record"])
    .default("traceID")
    .meta({ description: "Logs: decide by the trace id if there is one, or always by from_attribute." }),
  from_attribute: z
    .string()
    .default("")
    .meta({ description: "Logs: the attribute to decide by when it is not the trace id." }),
  sampling_priority: z
    .string()
    .default("")
    .meta({ description: "Logs: the attribute that holds a record's own percentage, which then counts." }),
});

type ProbabilisticSamplerConfig = z.infer<typeof schema>;

/**
 * Keeps a share of traces, or of log records, by a hash of the trace id: the same decisions as the Collector's
 * processor of this name. What is dropped is acknowledged and counted.
 */
export const probabilisticSampler = defineProcessor<ProbabilisticSamplerConfig>({
  type: "probabilistic_sampler",
  summary: "Keeps a share of the traces or log records, the same in every agent.",
  signals: ["traces", "logs"],
  zone: "sampling",
  schema,
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
const METRIC_OPTIONS = { description: "Records decided, by what was decided on and what was decided." };

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
