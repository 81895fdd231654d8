import type { ComponentFactory, ComponentKind } from "../contract/component.js";

export type LoadFactory = () => Promise<ComponentFactory>;

/**
 * The built-in components by kind and by every spelling of their type, each loaded when a config names it: the code of
 * all of them takes longer to load than most configs take to check.
 */
export const BUILTINS: Readonly<Record<ComponentKind, Readonly<Record<string, LoadFactory>>>> = {
  receiver: {
    app: async () => (await import("../../receivers/app.js")).appReceiver,
    otlp: async () => (await import("../../receivers/otlp/otlp.js")).otlpReceiver,
  },
  processor: {
    adaptive_sampling: async () =>
      (await import("../../processors/sampling/adaptive/adaptive-sampling.js")).adaptiveSampling,
    attributes: async () => (await import("../../processors/attributes/attributes.js")).attributesProcessor,
    batch: async () => (await import("../../processors/batch.js")).batch,
    filter: async () => (await import("../../processors/filter/filter.js")).filter,
    groupbyattrs: async () => (await import("../../processors/groupbyattrs/groupbyattrs.js")).groupByAttrs,
    memory_limiter: async () => (await import("../../processors/memory-limiter.js")).memoryLimiter,
    pii: async () => (await import("../../processors/pii/pii.js")).pii,
    probabilistic_sampler: async () =>
      (await import("../../processors/sampling/probabilistic/probabilistic-sampler.js")).probabilisticSampler,
    rate_limit: async () => (await import("../../processors/rate-limit/rate-limit.js")).rateLimit,
    redaction: async () => (await import("../../processors/pii/redaction/redaction.js")).redaction,
    resource: async () => (await import("../../processors/attributes/attributes.js")).resourceProcessor,
    tail_sampling: async () => (await import("../../processors/sampling/tail/tail-sampling.js")).tailSampling,
    transform: async () => (await import("../../processors/transform/transform.js")).transform,
    versioning: async () => (await import("../../processors/versioning/versioning.js")).versioning,
  },
  exporter: {
    debug: debugExporter,
    file: async () => (await import("../../exporters/file/file.js")).fileExporter,
    logging: debugExporter,
    nop: async () => (await import("../../exporters/nop.js")).nopExporter,
    otlp: otlpGrpcExporter,
    otlp_grpc: otlpGrpcExporter,
    otlp_http: otlpHttpExporter,
    otlphttp: otlpHttpExporter,
  },
  connector: {
    count: async () => (await import("../../connectors/count/count.js")).count,
    failover: async () => (await import("../../connectors/failover/failover.js")).failover,
    forward: async () => (await import("../../connectors/forward.js")).forward,
    routing: async () => (await import("../../connectors/routing/routing.js")).routing,
  },
  extension: {
    admin: async () => (await import("../../extensions/admin-api/admin-api.js")).adminApi,
    health_check: async () => (await import("../../extensions/health-check.js")).healthCheck,
    reliability: async () => (await import("../../extensions/reliability/reliability.js")).reliability,
  },
};

/** Extensions that run in every agent. */
export const DEFAULT_EXTENSIONS: readonly string[] = ["health_check", "reliability", "admin"];

async function debugExporter(): Promise<ComponentFactory> {
  return (await import("../../exporters/debug/debug.js")).debugExporter;
}

async function otlpGrpcExporter(): Promise<ComponentFactory> {
  return (await import("../../exporters/otlp-grpc/otlp-grpc.js")).otlpGrpcExporter;
}

async function otlpHttpExporter(): Promise<ComponentFactory> {
  return (await import("../../exporters/otlp-http/otlp-http.js")).otlpHttpExporter;
}
