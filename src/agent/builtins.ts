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
    load: async () => (await import("../receivers/otlp/component.js")).otlpReceiver,
  },
  {
    kind: "receiver",
    types: ["zipkin"],
    load: async () => (await import("../receivers/zipkin/component.js")).zipkinReceiver,
  },
  {
    kind: "receiver",
    types: ["jaeger"],
    load: async () => (await import("../receivers/otlp/jaeger/component.js")).jaegerReceiver,
  },
  {
    kind: "receiver",
    types: ["kafka"],
    load: async () => (await import("../receivers/kafka/component.js")).kafkaReceiver,
  },
  {
    kind: "receiver",
    types: ["rabbitmq"],
    load: async () => (await import("../receivers/rabbitmq/component.js")).rabbitmqReceiver,
  },
  {
    kind: "receiver",
    types: ["aws_sqs"],
    load: async () => (await import("../receivers/aws-sqs/component.js")).awsSqsReceiver,
  },
  {
    kind: "receiver",
    types: ["redis_stream"],
    load: async () => (await import("../receivers/redis-stream/component.js")).redisStreamReceiver,
  },
  {
    kind: "receiver",
    types: ["nats"],
    load: async () => (await import("../receivers/nats/component.js")).natsReceiver,
  },
  {
    kind: "receiver",
    types: ["fluent_forward", "fluentforward"],
    load: async () => (await import("../receivers/fluent-forward/component.js")).fluentForwardReceiver,
  },
  {
    kind: "receiver",
    types: ["postgresql"],
    load: async () => (await import("../receivers/postgresql/component.js")).postgresqlReceiver,
  },
  {
    kind: "receiver",
    types: ["outbox"],
    load: async () => (await import("../receivers/outbox/component.js")).outboxReceiver,
  },
  {
    kind: "receiver",
    types: ["file_log", "filelog"],
    load: async () => (await import("../receivers/file-log/component.js")).fileLogReceiver,
  },
  {
    kind: "receiver",
    types: ["otlp_json_file", "otlpjsonfile"],
    load: async () => (await import("../receivers/file-log/component.js")).otlpJsonFileReceiver,
  },
  {
    kind: "receiver",
    types: ["prometheus"],
    load: async () => (await import("../receivers/prometheus/component.js")).prometheusReceiver,
  },
  {
    kind: "receiver",
    types: ["host_metrics", "hostmetrics"],
    load: async () => (await import("../receivers/host-metrics/component.js")).hostMetricsReceiver,
  },
  {
    kind: "receiver",
    types: ["http_check", "httpcheck"],
    load: async () => (await import("../receivers/http-check/component.js")).httpCheckReceiver,
  },
  {
    kind: "receiver",
    types: ["tcp_log", "tcplog"],
    load: async () => (await import("../receivers/net-log/component.js")).tcpLogReceiver,
  },
  {
    kind: "receiver",
    types: ["udp_log", "udplog"],
    load: async () => (await import("../receivers/net-log/component.js")).udpLogReceiver,
  },
  {
    kind: "receiver",
    types: ["syslog"],
    load: async () => (await import("../receivers/net-log/component.js")).syslogReceiver,
  },
  {
    kind: "receiver",
    types: ["statsd"],
    load: async () => (await import("../receivers/statsd/component.js")).statsdReceiver,
  },
  {
    kind: "receiver",
    types: ["redis"],
    load: async () => (await import("../receivers/redis/component.js")).redisReceiver,
  },
  {
    kind: "receiver",
    types: ["nginx"],
    load: async () => (await import("../receivers/nginx/component.js")).nginxReceiver,
  },
  {
    kind: "receiver",
    types: ["nop"],
    load: async () => (await import("../receivers/nop.js")).nopReceiver,
  },
  {
    kind: "receiver",
    types: ["docker_stats"],
    load: async () => (await import("../receivers/docker-stats/component.js")).dockerStatsReceiver,
  },
  {
    kind: "receiver",
    types: ["kubelet_stats", "kubeletstats"],
    load: async () => (await import("../receivers/kubelet-stats/component.js")).kubeletStatsReceiver,
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
    load: async () => (await import("../processors/rate-limit/component.js")).rateLimit,
  },
  {
    kind: "processor",
    types: ["probabilistic_sampler"],
    load: async () => (await import("../processors/sampling/probabilistic/component.js")).probabilisticSampler,
  },
  {
    kind: "processor",
    types: ["adaptive_sampling"],
    load: async () => (await import("../processors/sampling/adaptive/component.js")).adaptiveSampling,
  },
  {
    kind: "processor",
    types: ["tail_sampling"],
    load: async () => (await import("../processors/sampling/tail/component.js")).tailSampling,
  },
  {
    kind: "processor",
    types: ["groupbytrace", "group_by_trace"],
    load: async () => (await import("../processors/sampling/tail/component.js")).groupByTrace,
  },
  {
    kind: "processor",
    types: ["filter"],
    load: async () => (await import("../processors/filter/component.js")).filter,
  },
  {
    kind: "processor",
    types: ["transform"],
    load: async () => (await import("../processors/transform/component.js")).transform,
  },
  {
    kind: "processor",
    types: ["versioning"],
    load: async () => (await import("../processors/versioning/component.js")).versioning,
  },
  {
    kind: "processor",
    types: ["attributes"],
    load: async () => (await import("../processors/attributes/component.js")).attributesProcessor,
  },
  {
    kind: "processor",
    types: ["resource"],
    load: async () => (await import("../processors/attributes/component.js")).resourceProcessor,
  },
  {
    kind: "processor",
    types: ["span"],
    load: async () => (await import("../processors/attributes/component.js")).spanProcessor,
  },
  {
    kind: "processor",
    types: ["pii"],
    load: async () => (await import("../processors/pii/component.js")).pii,
  },
  {
    kind: "processor",
    types: ["redaction"],
    load: async () => (await import("../processors/pii/redaction/component.js")).redaction,
  },
  {
    kind: "processor",
    types: ["resource_detection", "resourcedetection"],
    load: async () => (await import("../processors/resource-detection/component.js")).resourceDetection,
  },
  {
    kind: "processor",
    types: ["k8s_attributes", "k8sattributes"],
    load: async () => (await import("../processors/k8s-attributes/component.js")).k8sAttributes,
  },
  {
    kind: "processor",
    types: ["groupbyattrs"],
    load: async () => (await import("../processors/groupbyattrs/component.js")).groupByAttrs,
  },
  {
    kind: "exporter",
    types: ["otlp_http", "otlphttp"],
    load: async () => (await import("../exporters/otlp-http/component.js")).otlpHttpExporter,
  },
  {
    kind: "exporter",
    types: ["otlp_grpc", "otlp"],
    load: async () => (await import("../exporters/otlp-grpc/component.js")).otlpGrpcExporter,
  },
  {
    kind: "exporter",
    types: ["zipkin"],
    load: async () => (await import("../exporters/zipkin/component.js")).zipkinExporter,
  },
  {
    kind: "exporter",
    types: ["jaeger"],
    load: async () => (await import("../exporters/jaeger/component.js")).jaegerExporter,
  },
  {
    kind: "exporter",
    types: ["clickhouse"],
    load: async () => (await import("../exporters/clickhouse/component.js")).clickhouseExporter,
  },
  {
    kind: "exporter",
    types: ["elasticsearch"],
    load: async () => (await import("../exporters/bulk/elasticsearch/component.js")).elasticsearchExporter,
  },
  {
    kind: "exporter",
    types: ["opensearch"],
    load: async () => (await import("../exporters/bulk/opensearch/component.js")).openSearchExporter,
  },
  {
    kind: "exporter",
    types: ["loki"],
    load: async () => (await import("../exporters/loki/component.js")).lokiExporter,
  },
  {
    kind: "exporter",
    types: ["datadog"],
    load: async () => (await import("../exporters/vendors/datadog/component.js")).datadogExporter,
  },
  {
    kind: "exporter",
    types: ["awsxray"],
    load: async () => (await import("../exporters/vendors/awsxray/component.js")).awsXrayExporter,
  },
  {
    kind: "exporter",
    types: ["awscloudwatchlogs"],
    load: async () => (await import("../exporters/vendors/awscloudwatchlogs/component.js")).awsCloudWatchLogsExporter,
  },
  {
    kind: "exporter",
    types: ["awsemf"],
    load: async () => (await import("../exporters/vendors/awsemf/component.js")).awsEmfExporter,
  },
  {
    kind: "exporter",
    types: ["googlecloud"],
    load: async () => (await import("../exporters/vendors/googlecloud/component.js")).googleCloudExporter,
  },
  {
    kind: "exporter",
    types: ["googlemanagedprometheus"],
    load: async () =>
      (await import("../exporters/vendors/googlemanagedprometheus/component.js")).googleManagedPrometheusExporter,
  },
  {
    kind: "exporter",
    types: ["signalfx"],
    load: async () => (await import("../exporters/vendors/signalfx/component.js")).signalFxExporter,
  },
  {
    kind: "exporter",
    types: ["splunk_hec"],
    load: async () => (await import("../exporters/vendors/splunkhec/component.js")).splunkHecExporter,
  },
  {
    kind: "exporter",
    types: ["coralogix"],
    load: async () => (await import("../exporters/vendors/coralogix/component.js")).coralogixExporter,
  },
  {
    kind: "exporter",
    types: ["azuremonitor"],
    load: async () => (await import("../exporters/vendors/azuremonitor/component.js")).azureMonitorExporter,
  },
  {
    kind: "exporter",
    types: ["load_balancing", "loadbalancing"],
    load: async () => (await import("../exporters/otlp-grpc/load-balancing/component.js")).loadBalancingExporter,
  },
  {
    kind: "exporter",
    types: ["debug", "logging"],
    load: async () => (await import("../exporters/debug/component.js")).debugExporter,
  },
  {
    kind: "exporter",
    types: ["file"],
    load: async () => (await import("../exporters/file/component.js")).fileExporter,
  },
  {
    kind: "exporter",
    types: ["prometheus"],
    load: async () => (await import("../exporters/prometheus/component.js")).prometheusExporter,
  },
  {
    kind: "exporter",
    types: ["prometheus_remote_write", "prometheusremotewrite"],
    load: async () => (await import("../exporters/prometheus/remote-write/component.js")).remoteWriteExporter,
  },
  {
    kind: "exporter",
    types: ["kafka"],
    load: async () => (await import("../exporters/kafka/component.js")).kafkaExporter,
  },
  {
    kind: "exporter",
    types: ["rabbitmq"],
    load: async () => (await import("../exporters/rabbitmq/component.js")).rabbitmqExporter,
  },
  {
    kind: "exporter",
    types: ["webhook"],
    load: async () => (await import("../exporters/alerts/webhook/component.js")).webhookExporter,
  },
  {
    kind: "exporter",
    types: ["sentry"],
    load: async () => (await import("../exporters/alerts/sentry/component.js")).sentryExporter,
  },
  {
    kind: "exporter",
    types: ["nop"],
    load: async () => (await import("../exporters/nop.js")).nopExporter,
  },
  {
    kind: "exporter",
    types: ["postgres"],
    load: async () => (await import("../exporters/postgres/component.js")).postgresExporter,
  },
  {
    kind: "exporter",
    types: ["aws_sqs"],
    load: async () => (await import("../exporters/aws-sqs/component.js")).awsSqsExporter,
  },
  {
    kind: "exporter",
    types: ["redis_stream"],
    load: async () => (await import("../exporters/redis-stream/component.js")).redisStreamExporter,
  },
  {
    kind: "exporter",
    types: ["nats"],
    load: async () => (await import("../exporters/nats/component.js")).natsExporter,
  },
  {
    kind: "processor",
    types: ["metrics_transform", "metricstransform"],
    load: async () => (await import("../processors/metrics-transform/component.js")).metricsTransform,
  },
  {
    kind: "processor",
    types: ["cumulative_to_delta", "cumulativetodelta"],
    load: async () => (await import("../processors/temporality/cumulative-to-delta/component.js")).cumulativeToDelta,
  },
  {
    kind: "processor",
    types: ["delta_to_cumulative", "deltatocumulative"],
    load: async () => (await import("../processors/temporality/delta-to-cumulative/component.js")).deltaToCumulative,
  },
  {
    kind: "processor",
    types: ["spanmetrics"],
    load: async () => (await import("../connectors/spans/span-metrics/component.js")).spanMetricsProcessor,
  },
  {
    kind: "connector",
    types: ["service_graph", "servicegraph"],
    load: async () => (await import("../connectors/spans/service-graph/component.js")).serviceGraph,
  },
  {
    kind: "connector",
    types: ["span_metrics", "spanmetrics"],
    load: async () => (await import("../connectors/spans/span-metrics/component.js")).spanMetrics,
  },
  {
    kind: "connector",
    types: ["count"],
    load: async () => (await import("../connectors/count/component.js")).count,
  },
  {
    kind: "connector",
    types: ["exceptions"],
    load: async () => (await import("../connectors/spans/exceptions/component.js")).exceptions,
  },
  {
    kind: "connector",
    types: ["failover"],
    load: async () => (await import("../connectors/failover/component.js")).failover,
  },
  {
    kind: "connector",
    types: ["forward"],
    load: async () => (await import("../connectors/forward.js")).forward,
  },
  {
    kind: "connector",
    types: ["routing"],
    load: async () => (await import("../connectors/routing/component.js")).routing,
  },
  {
    kind: "extension",
    types: ["opamp"],
    load: async () => (await import("../extensions/opamp/component.js")).opamp,
  },
  {
    kind: "extension",
    types: ["health_check"],
    onByDefault: true,
    load: async () => (await import("../extensions/health-check.js")).healthCheck,
  },
  {
    kind: "extension",
    types: ["healthcheckv2", "health_check_v2"],
    load: async () => (await import("../extensions/health-check-v2/component.js")).healthCheckV2,
  },
  {
    kind: "extension",
    types: ["http_forwarder", "httpforwarder"],
    load: async () => (await import("../extensions/http-forwarder/component.js")).httpForwarder,
  },
  {
    kind: "extension",
    types: ["basicauth", "basic_auth"],
    load: async () => (await import("../extensions/auth/basic/component.js")).basicAuth,
  },
  {
    kind: "extension",
    types: ["bearertokenauth", "bearer_token_auth"],
    load: async () => (await import("../extensions/auth/bearer/component.js")).bearerTokenAuth,
  },
  {
    kind: "extension",
    types: ["oidc"],
    load: async () => (await import("../extensions/auth/oidc/component.js")).oidc,
  },
  {
    kind: "extension",
    types: ["mtlsauth", "mtls_auth"],
    load: async () => (await import("../extensions/auth/mtls/component.js")).mtlsAuth,
  },
  {
    kind: "extension",
    types: ["reliability"],
    onByDefault: true,
    load: async () => (await import("../extensions/reliability/component.js")).reliability,
  },
  {
    kind: "extension",
    types: ["admin"],
    onByDefault: true,
    load: async () => (await import("../extensions/admin-api/component.js")).adminApi,
  },
  {
    kind: "extension",
    types: ["headers_setter", "headerssetter"],
    load: async () => (await import("../extensions/auth/headers/component.js")).headersSetter,
  },
  {
    kind: "extension",
    types: ["oauth2client", "oauth2_client"],
    load: async () => (await import("../extensions/auth/oauth2/component.js")).oauth2Client,
  },
  {
    kind: "extension",
    types: ["sigv4auth", "sigv4_auth"],
    load: async () => (await import("../extensions/auth/sigv4/component.js")).sigV4Auth,
  },
];

/** Loads all components that come with Sluice, for any config: `new Registry(await builtins())`. */
export async function builtins(): Promise<ComponentFactory[]> {
  const factories = await loadAll(BUILTINS);
  for (const factory of factories) if (factory.kind === "extension") await factory.prepareConfig?.(() => true);
  return factories;
}

export function loadAll(wanted: Iterable<Builtin>): Promise<ComponentFactory[]> {
  return Promise.all(Array.from(wanted, ({ load }) => load()));
}

/** Returns undefined when no built-in component of this kind has this type. */
export function findBuiltin(kind: ComponentKind, type: string): Builtin | undefined {
  return BUILTINS.find((builtin) => builtin.kind === kind && builtin.types.includes(type));
}
