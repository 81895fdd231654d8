import type { ComponentFactory, ComponentKind } from "#contract";

/** A component that comes with Sluice, before its code is loaded. */
export interface Builtin {
  readonly kind: ComponentKind;
  /** All names of its type. The first is the canonical one; the others are aliases. */
  readonly types: readonly [string, ...string[]];
  readonly load: () => Promise<ComponentFactory>;
  /** Marks an extension that runs in every agent, even if the config does not name it. */
  readonly onByDefault?: true;
}

/**
 * The list of all components that come with Sluice. Each is loaded only when a config names it: loading the code of all
 * of them takes longer than checking most configs.
 */
export const BUILTINS: readonly Builtin[] = [
  {
    kind: "receiver",
    types: ["app"],
    load: async () => (await import("../receivers/app.js")).appReceiver,
  },
  {
    kind: "receiver",
    types: ["otlp"],
    load: async () => (await import("../receivers/otlp/otlp.js")).otlpReceiver,
  },
  {
    kind: "receiver",
    types: ["zipkin"],
    load: async () => (await import("../receivers/zipkin/zipkin.js")).zipkinReceiver,
  },
  {
    kind: "receiver",
    types: ["jaeger"],
    load: async () => (await import("../receivers/otlp/jaeger/jaeger.js")).jaegerReceiver,
  },
  {
    kind: "receiver",
    types: ["kafka"],
    load: async () => (await import("../receivers/kafka/kafka.js")).kafkaReceiver,
  },
  {
    kind: "receiver",
    types: ["rabbitmq"],
    load: async () => (await import("../receivers/rabbitmq/rabbitmq.js")).rabbitmqReceiver,
  },
  {
    kind: "receiver",
    types: ["redis_stream"],
    load: async () => (await import("../receivers/redis-stream/redis-stream.js")).redisStreamReceiver,
  },
  {
    kind: "receiver",
    types: ["nats"],
    load: async () => (await import("../receivers/nats/nats.js")).natsReceiver,
  },
  {
    kind: "receiver",
    types: ["fluent_forward", "fluentforward"],
    load: async () => (await import("../receivers/fluent-forward/fluent-forward.js")).fluentForwardReceiver,
  },
  {
    kind: "receiver",
    types: ["postgresql"],
    load: async () => (await import("../receivers/postgresql/postgresql.js")).postgresqlReceiver,
  },
  {
    kind: "receiver",
    types: ["outbox"],
    load: async () => (await import("../receivers/outbox/outbox.js")).outboxReceiver,
  },
  {
    kind: "receiver",
    types: ["file_log", "filelog"],
    load: async () => (await import("../receivers/file-log/file-log.js")).fileLogReceiver,
  },
  {
    kind: "receiver",
    types: ["prometheus"],
    load: async () => (await import("../receivers/prometheus/prometheus.js")).prometheusReceiver,
  },
  {
    kind: "receiver",
    types: ["host_metrics", "hostmetrics"],
    load: async () => (await import("../receivers/host-metrics/host-metrics.js")).hostMetricsReceiver,
  },
  {
    kind: "receiver",
    types: ["http_check", "httpcheck"],
    load: async () => (await import("../receivers/http-check/http-check.js")).httpCheckReceiver,
  },
  {
    kind: "receiver",
    types: ["tcp_log", "tcplog"],
    load: async () => (await import("../receivers/net-log/net-log.js")).tcpLogReceiver,
  },
  {
    kind: "receiver",
    types: ["udp_log", "udplog"],
    load: async () => (await import("../receivers/net-log/net-log.js")).udpLogReceiver,
  },
  {
    kind: "receiver",
    types: ["syslog"],
    load: async () => (await import("../receivers/net-log/net-log.js")).syslogReceiver,
  },
  {
    kind: "receiver",
    types: ["docker_stats"],
    load: async () => (await import("../receivers/docker-stats/docker-stats.js")).dockerStatsReceiver,
  },
  {
    kind: "receiver",
    types: ["kubelet_stats", "kubeletstats"],
    load: async () => (await import("../receivers/kubelet-stats/kubelet-stats.js")).kubeletStatsReceiver,
  },
  {
    kind: "processor",
    types: ["batch"],
    load: async () => (await import("../processors/batch.js")).batch,
  },
  {
    kind: "processor",
    types: ["memory_limiter"],
    load: async () => (await import("../processors/memory-limiter.js")).memoryLimiter,
  },
  {
    kind: "processor",
    types: ["rate_limit"],
    load: async () => (await import("../processors/rate-limit/rate-limit.js")).rateLimit,
  },
  {
    kind: "processor",
    types: ["probabilistic_sampler"],
    load: async () =>
      (await import("../processors/sampling/probabilistic/probabilistic-sampler.js")).probabilisticSampler,
  },
  {
    kind: "processor",
    types: ["adaptive_sampling"],
    load: async () => (await import("../processors/sampling/adaptive/adaptive-sampling.js")).adaptiveSampling,
  },
  {
    kind: "processor",
    types: ["tail_sampling"],
    load: async () => (await import("../processors/sampling/tail/tail-sampling.js")).tailSampling,
  },
  {
    kind: "processor",
    types: ["filter"],
    load: async () => (await import("../processors/filter/filter.js")).filter,
  },
  {
    kind: "processor",
    types: ["transform"],
    load: async () => (await import("../processors/transform/transform.js")).transform,
  },
  {
    kind: "processor",
    types: ["versioning"],
    load: async () => (await import("../processors/versioning/versioning.js")).versioning,
  },
  {
    kind: "processor",
    types: ["attributes"],
    load: async () => (await import("../processors/attributes/attributes.js")).attributesProcessor,
  },
  {
    kind: "processor",
    types: ["resource"],
    load: async () => (await import("../processors/attributes/attributes.js")).resourceProcessor,
  },
  {
    kind: "processor",
    types: ["pii"],
    load: async () => (await import("../processors/pii/pii.js")).pii,
  },
  {
    kind: "processor",
    types: ["redaction"],
    load: async () => (await import("../processors/pii/redaction/redaction.js")).redaction,
  },
  {
    kind: "processor",
    types: ["resource_detection", "resourcedetection"],
    load: async () => (await import("../processors/resource-detection/resource-detection.js")).resourceDetection,
  },
  {
    kind: "processor",
    types: ["k8s_attributes", "k8sattributes"],
    load: async () => (await import("../processors/k8s-attributes/k8s-attributes.js")).k8sAttributes,
  },
  {
    kind: "processor",
    types: ["groupbyattrs"],
    load: async () => (await import("../processors/groupbyattrs/groupbyattrs.js")).groupByAttrs,
  },
  {
    kind: "exporter",
    types: ["otlp_http", "otlphttp"],
    load: async () => (await import("../exporters/otlp-http/otlp-http.js")).otlpHttpExporter,
  },
  {
    kind: "exporter",
    types: ["otlp_grpc", "otlp"],
    load: async () => (await import("../exporters/otlp-grpc/otlp-grpc.js")).otlpGrpcExporter,
  },
  {
    kind: "exporter",
    types: ["zipkin"],
    load: async () => (await import("../exporters/zipkin/zipkin.js")).zipkinExporter,
  },
  {
    kind: "exporter",
    types: ["jaeger"],
    load: async () => (await import("../exporters/jaeger/jaeger.js")).jaegerExporter,
  },
  {
    kind: "exporter",
    types: ["clickhouse"],
    load: async () => (await import("../exporters/clickhouse/clickhouse.js")).clickhouseExporter,
  },
  {
    kind: "exporter",
    types: ["elasticsearch"],
    load: async () => (await import("../exporters/bulk/elasticsearch/elasticsearch.js")).elasticsearchExporter,
  },
  {
    kind: "exporter",
    types: ["opensearch"],
    load: async () => (await import("../exporters/bulk/opensearch/opensearch.js")).openSearchExporter,
  },
  {
    kind: "exporter",
    types: ["loki"],
    load: async () => (await import("../exporters/loki/loki.js")).lokiExporter,
  },
  {
    kind: "exporter",
    types: ["load_balancing", "loadbalancing"],
    load: async () => (await import("../exporters/otlp-grpc/load-balancing/load-balancing.js")).loadBalancingExporter,
  },
  {
    kind: "exporter",
    types: ["debug", "logging"],
    load: async () => (await import("../exporters/debug/debug.js")).debugExporter,
  },
  {
    kind: "exporter",
    types: ["file"],
    load: async () => (await import("../exporters/file/file.js")).fileExporter,
  },
  {
    kind: "exporter",
    types: ["prometheus"],
    load: async () => (await import("../exporters/prometheus/prometheus.js")).prometheusExporter,
  },
  {
    kind: "exporter",
    types: ["prometheus_remote_write", "prometheusremotewrite"],
    load: async () => (await import("../exporters/prometheus/remote-write/remote-write.js")).remoteWriteExporter,
  },
  {
    kind: "exporter",
    types: ["kafka"],
    load: async () => (await import("../exporters/kafka/kafka.js")).kafkaExporter,
  },
  {
    kind: "exporter",
    types: ["rabbitmq"],
    load: async () => (await import("../exporters/rabbitmq/rabbitmq.js")).rabbitmqExporter,
  },
  {
    kind: "exporter",
    types: ["webhook"],
    load: async () => (await import("../exporters/alerts/webhook/webhook.js")).webhookExporter,
  },
  {
    kind: "exporter",
    types: ["sentry"],
    load: async () => (await import("../exporters/alerts/sentry/sentry.js")).sentryExporter,
  },
  {
    kind: "exporter",
    types: ["nop"],
    load: async () => (await import("../exporters/nop.js")).nopExporter,
  },
  {
    kind: "exporter",
    types: ["postgres"],
    load: async () => (await import("../exporters/postgres/postgres.js")).postgresExporter,
  },
  {
    kind: "exporter",
    types: ["redis_stream"],
    load: async () => (await import("../exporters/redis-stream/redis-stream.js")).redisStreamExporter,
  },
  {
    kind: "exporter",
    types: ["nats"],
    load: async () => (await import("../exporters/nats/nats.js")).natsExporter,
  },
  {
    kind: "processor",
    types: ["metrics_transform", "metricstransform"],
    load: async () => (await import("../processors/metrics-transform/metrics-transform.js")).metricsTransform,
  },
  {
    kind: "processor",
    types: ["cumulative_to_delta", "cumulativetodelta"],
    load: async () => (await import("../processors/temporality/cumulative-to-delta.js")).cumulativeToDelta,
  },
  {
    kind: "processor",
    types: ["delta_to_cumulative", "deltatocumulative"],
    load: async () => (await import("../processors/temporality/delta-to-cumulative.js")).deltaToCumulative,
  },
  {
    kind: "processor",
    types: ["spanmetrics"],
    load: async () => (await import("../connectors/spans/span-metrics/span-metrics.js")).spanMetricsProcessor,
  },
  {
    kind: "connector",
    types: ["service_graph", "servicegraph"],
    load: async () => (await import("../connectors/spans/service-graph/service-graph.js")).serviceGraph,
  },
  {
    kind: "connector",
    types: ["span_metrics", "spanmetrics"],
    load: async () => (await import("../connectors/spans/span-metrics/span-metrics.js")).spanMetrics,
  },
  {
    kind: "connector",
    types: ["count"],
    load: async () => (await import("../connectors/count/count.js")).count,
  },
  {
    kind: "connector",
    types: ["failover"],
    load: async () => (await import("../connectors/failover/failover.js")).failover,
  },
  {
    kind: "connector",
    types: ["forward"],
    load: async () => (await import("../connectors/forward.js")).forward,
  },
  {
    kind: "connector",
    types: ["routing"],
    load: async () => (await import("../connectors/routing/routing.js")).routing,
  },
  {
    kind: "extension",
    types: ["health_check"],
    onByDefault: true,
    load: async () => (await import("../extensions/health-check.js")).healthCheck,
  },
  {
    kind: "extension",
    types: ["basicauth", "basic_auth"],
    load: async () => (await import("../extensions/auth/basic/basic-auth.js")).basicAuth,
  },
  {
    kind: "extension",
    types: ["bearertokenauth", "bearer_token_auth"],
    load: async () => (await import("../extensions/auth/bearer/bearer-token-auth.js")).bearerTokenAuth,
  },
  {
    kind: "extension",
    types: ["oidc"],
    load: async () => (await import("../extensions/auth/oidc/oidc.js")).oidc,
  },
  {
    kind: "extension",
    types: ["mtlsauth", "mtls_auth"],
    load: async () => (await import("../extensions/auth/mtls-auth.js")).mtlsAuth,
  },
  {
    kind: "extension",
    types: ["reliability"],
    onByDefault: true,
    load: async () => (await import("../extensions/reliability/reliability.js")).reliability,
  },
  {
    kind: "extension",
    types: ["admin"],
    onByDefault: true,
    load: async () => (await import("../extensions/admin-api/admin-api.js")).adminApi,
  },
  {
    kind: "extension",
    types: ["headers_setter", "headerssetter"],
    load: async () => (await import("../extensions/auth/headers/headers-setter.js")).headersSetter,
  },
  {
    kind: "extension",
    types: ["oauth2client", "oauth2_client"],
    load: async () => (await import("../extensions/auth/oauth2/oauth2-client.js")).oauth2Client,
  },
  {
    kind: "extension",
    types: ["sigv4auth", "sigv4_auth"],
    load: async () => (await import("../extensions/auth/sigv4/sigv4-auth.js")).sigV4Auth,
  },
];

/** Loads all components that come with Sluice: `new Registry(await builtins())`. */
export function builtins(): Promise<ComponentFactory[]> {
  return loadAll(BUILTINS);
}

export function loadAll(wanted: Iterable<Builtin>): Promise<ComponentFactory[]> {
  return Promise.all(Array.from(wanted, ({ load }) => load()));
}

/** Returns undefined when no built-in component of this kind has this type. */
export function findBuiltin(kind: ComponentKind, type: string): Builtin | undefined {
  return BUILTINS.find((builtin) => builtin.kind === kind && builtin.types.includes(type));
}
