import type { Builtin } from "./builtin.js";

export const PROCESSORS: readonly Builtin[] = [
  {
    kind: "processor",
    types: ["batch"],
    load: async () => (await import("../../processors/batch.js")).batch,
  },
  {
    kind: "processor",
    types: ["memory_limiter"],
    load: async () => (await import("../../processors/memory-limiter.js")).memoryLimiter,
  },
  {
    kind: "processor",
    types: ["rate_limit"],
    load: async () => (await import("../../processors/rate-limit/component.js")).rateLimit,
  },
  {
    kind: "processor",
    types: ["probabilistic_sampler"],
    load: async () => (await import("../../processors/sampling/probabilistic/component.js")).probabilisticSampler,
  },
  {
    kind: "processor",
    types: ["adaptive_sampling"],
    load: async () => (await import("../../processors/sampling/adaptive/component.js")).adaptiveSampling,
  },
  {
    kind: "processor",
    types: ["tail_sampling"],
    load: async () => (await import("../../processors/sampling/tail/component.js")).tailSampling,
  },
  {
    kind: "processor",
    types: ["groupbytrace", "group_by_trace"],
    load: async () => (await import("../../processors/sampling/tail/component.js")).groupByTrace,
  },
  {
    kind: "processor",
    types: ["filter"],
    load: async () => (await import("../../processors/filter/component.js")).filter,
  },
  {
    kind: "processor",
    types: ["transform"],
    load: async () => (await import("../../processors/transform/component.js")).transform,
  },
  {
    kind: "processor",
    types: ["versioning"],
    load: async () => (await import("../../processors/versioning/component.js")).versioning,
  },
  {
    kind: "processor",
    types: ["attributes"],
    load: async () => (await import("../../processors/attributes/component.js")).attributesProcessor,
  },
  {
    kind: "processor",
    types: ["resource"],
    load: async () => (await import("../../processors/attributes/component.js")).resourceProcessor,
  },
  {
    kind: "processor",
    types: ["span"],
    load: async () => (await import("../../processors/attributes/component.js")).spanProcessor,
  },
  {
    kind: "processor",
    types: ["pii"],
    load: async () => (await import("../../processors/pii/component.js")).pii,
  },
  {
    kind: "processor",
    types: ["redaction"],
    load: async () => (await import("../../processors/pii/redaction/component.js")).redaction,
  },
  {
    kind: "processor",
    types: ["resource_detection", "resourcedetection"],
    load: async () => (await import("../../processors/resource-detection/component.js")).resourceDetection,
  },
  {
    kind: "processor",
    types: ["k8s_attributes", "k8sattributes"],
    load: async () => (await import("../../processors/k8s-attributes/component.js")).k8sAttributes,
  },
  {
    kind: "processor",
    types: ["groupbyattrs"],
    load: async () => (await import("../../processors/groupbyattrs/component.js")).groupByAttrs,
  },
  {
    kind: "processor",
    types: ["metrics_transform", "metricstransform"],
    load: async () => (await import("../../processors/metrics-transform/component.js")).metricsTransform,
  },
  {
    kind: "processor",
    types: ["cumulative_to_delta", "cumulativetodelta"],
    load: async () => (await import("../../processors/temporality/cumulative-to-delta/component.js")).cumulativeToDelta,
  },
  {
    kind: "processor",
    types: ["delta_to_cumulative", "deltatocumulative"],
    load: async () => (await import("../../processors/temporality/delta-to-cumulative/component.js")).deltaToCumulative,
  },
  {
    kind: "processor",
    types: ["metric_start_time", "metricstarttime"],
    load: async () => (await import("../../processors/temporality/metric-start-time/component.js")).metricStartTime,
  },
  {
    kind: "processor",
    types: ["delta_to_rate", "deltatorate"],
    load: async () => (await import("../../processors/delta-to-rate/component.js")).deltaToRate,
  },
  {
    kind: "processor",
    types: ["log_dedup", "logdedup"],
    load: async () => (await import("../../processors/intervals/log-dedup/component.js")).logDedup,
  },
  {
    kind: "processor",
    types: ["interval"],
    load: async () => (await import("../../processors/intervals/interval/component.js")).interval,
  },
  {
    kind: "processor",
    types: ["metrics_generation", "metricsgeneration", "experimental_metricsgeneration"],
    load: async () => (await import("../../processors/metrics-generation/component.js")).metricsGeneration,
  },
  {
    kind: "processor",
    types: ["spanmetrics"],
    load: async () => (await import("../../connectors/spans/span-metrics/component.js")).spanMetricsProcessor,
  },
];
