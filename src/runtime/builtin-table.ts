import type { ComponentFactory, ComponentKind } from "./contract/component.js";

type LoadFactory = () => Promise<ComponentFactory>;

/**
 * The built-in components by kind and by every spelling of their type, each loaded when a config names it: the code of
 * all of them takes longer to load than most configs take to check.
 */
export const BUILTINS: Readonly<Record<ComponentKind, Readonly<Record<string, LoadFactory>>>> = {
  receiver: {
    app: async () => (await import("../receivers/app.js")).appReceiver,
    otlp: async () => (await import("../receivers/otlp/otlp-receiver.js")).otlpReceiver,
  },
  processor: {
    adaptive_sampling: async () => (await import("../processors/adaptive-sampling/index.js")).adaptiveSampling,
    attributes: async () => (await import("../processors/attributes/index.js")).attributesProcessor,
    batch: async () => (await import("../processors/batch.js")).batch,
    filter: async () => (await import("../processors/filter/index.js")).filter,
    groupbyattrs: async () => (await import("../processors/groupbyattrs.js")).groupByAttrs,
    memory_limiter: async () => (await import("../processors/memory-limiter.js")).memoryLimiter,
    pii: async () => (await import("../processors/pii/index.js")).pii,
    probabilistic_sampler: async () => (await import("../processors/probabilistic-sampler.js")).probabilisticSampler,
    rate_limit: async () => (await import("../processors/rate-limit/index.js")).rateLimit,
    redaction: async () => (await import("../processors/redaction/index.js")).redaction,
    resource: async () => (await import("../processors/attributes/index.js")).resourceProcessor,
    tail_sampling: async () => (await import("../processors/tail-sampling/index.js")).tailSampling,
    transform: async () => (await import("../processors/transform/index.js")).transform,
    versioning: async () => (await import("../processors/versioning.js")).versioning,
  },
  exporter: {
    debug: debugExporter,
    file: async () => (await import("../exporters/file/index.js")).fileExporter,
    logging: debugExporter,
    nop: async () => (await import("../exporters/nop.js")).nopExporter,
    otlp: otlpGrpcExporter,
    otlp_grpc: otlpGrpcExporter,
    otlp_http: otlpHttpExporter,
    otlphttp: otlpHttpExporter,
  },
  connector: {
    count: async () => (await import("../connectors/count/index.js")).count,
    failover: async () => (await import("../connectors/failover/index.js")).failover,
    forward: async () => (await import("../connectors/forward.js")).forward,
    routing: async () => (await import("../connectors/routing/index.js")).routing,
  },
  extension: {
    admin: async () => (await import("../extensions/admin-api/index.js")).adminApi,
    health_check: async () => (await import("../extensions/health-check.js")).healthCheck,
    reliability: async () => (await import("../extensions/reliability/index.js")).reliability,
  },
};

/** Extensions that run in every agent. */
export const DEFAULT_EXTENSIONS: readonly string[] = ["health_check", "reliability", "admin"];

async function debugExporter(): Promise<ComponentFactory> {
  return (await import("../exporters/debug/index.js")).debugExporter;
}

async function otlpGrpcExporter(): Promise<ComponentFactory> {
  return (await import("../exporters/otlp-grpc/otlp-grpc-exporter.js")).otlpGrpcExporter;
}

async function otlpHttpExporter(): Promise<ComponentFactory> {
  return (await import("../exporters/otlp-http/otlp-http-exporter.js")).otlpHttpExporter;
}
