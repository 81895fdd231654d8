import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The page in docs/ about each component that has one. */
export const COMPONENT_PAGES = {
  receiver: {
    app: "embedding.md",
    aws_sqs: "aws-sqs.md",
    docker_stats: "docker-stats.md",
    file_log: "file-log.md",
    fluent_forward: "fluent-forward.md",
    host_metrics: "host-metrics.md",
    http_check: "http-check.md",
    jaeger: "jaeger.md",
    journald: "journald.md",
    k8s_cluster: "k8s-cluster.md",
    k8s_events: "k8s-objects.md",
    k8s_objects: "k8s-objects.md",
    kafka: "kafka.md",
    kafka_metrics: "kafka-metrics.md",
    kubelet_stats: "kubelet-stats.md",
    nats: "nats.md",
    nginx: "nginx.md",
    nop: "forward.md",
    otlp: "otlp.md",
    otlp_json_file: "file-log.md",
    outbox: "postgres.md",
    postgresql: "postgresql.md",
    prometheus: "prometheus.md#to-scrape",
    prometheus_remote_write: "prometheus.md#to-receive-remote-write",
    rabbitmq: "rabbitmq.md",
    redis: "redis-metrics.md",
    redis_stream: "redis.md",
    splunk_hec: "splunk.md#to-receive",
    statsd: "statsd.md",
    syslog: "network-logs.md",
    tcp_log: "network-logs.md",
    udp_log: "network-logs.md",
    webhook_event: "webhook-event.md",
    zipkin: "zipkin.md",
  },
  processor: {
    adaptive_sampling: "sampling.md",
    attributes: "attributes.md",
    batch: "batch.md",
    cumulative_to_delta: "temporality.md",
    delta_to_cumulative: "temporality.md",
    filter: "filter.md",
    groupbyattrs: "groupbyattrs.md",
    groupbytrace: "sampling.md#groupbytrace",
    k8s_attributes: "k8s-attributes.md",
    memory_limiter: "memory-limiter.md",
    metrics_transform: "metrics-transform.md",
    pii: "pii.md",
    probabilistic_sampler: "sampling.md",
    rate_limit: "rate-limit.md",
    redaction: "pii.md",
    resource: "attributes.md",
    resource_detection: "resource-detection.md",
    span: "span.md",
    spanmetrics: "span-metrics.md#the-processor",
    tail_sampling: "sampling.md",
    transform: "ottl.md",
    versioning: "versioning.md",
  },
  exporter: {
    aws_sqs: "aws-sqs.md",
    awscloudwatchlogs: "aws.md",
    awsemf: "aws.md",
    awsxray: "aws.md",
    azureblob: "azure-blob.md",
    azuremonitor: "azure-monitor.md",
    clickhouse: "clickhouse.md",
    coralogix: "coralogix.md",
    datadog: "datadog.md",
    debug: "debug.md",
    elasticsearch: "elasticsearch.md",
    file: "file-exporter.md",
    googlecloud: "google-cloud.md",
    googlemanagedprometheus: "google-cloud.md",
    jaeger: "jaeger.md",
    kafka: "kafka.md",
    load_balancing: "load-balancing.md",
    loki: "loki.md",
    nats: "nats.md",
    nop: "forward.md",
    opensearch: "elasticsearch.md",
    otlp_grpc: "otlp.md",
    otlp_http: "otlp.md",
    postgres: "postgres.md",
    prometheus: "prometheus.md#to-be-scraped",
    prometheus_remote_write: "prometheus.md#remote-write",
    rabbitmq: "rabbitmq.md",
    redis_stream: "redis.md",
    sapm: "signalfx.md#spans-over-sapm",
    sentry: "webhook.md",
    signalfx: "signalfx.md",
    splunk_hec: "splunk.md",
    webhook: "webhook.md",
    zipkin: "zipkin.md",
  },
  connector: {
    count: "count.md",
    datadog: "datadog.md#the-connector",
    exceptions: "exceptions.md",
    failover: "failover.md",
    forward: "forward.md",
    routing: "routing.md",
    service_graph: "service-graph.md",
    span_metrics: "span-metrics.md",
  },
  extension: {
    admin: "console.md",
    basicauth: "authentication.md",
    bearertokenauth: "authentication.md",
    googleclientauth: "authentication.md",
    headers_setter: "authentication.md",
    health_check: "health-checks.md",
    healthcheckv2: "health-checks.md",
    http_forwarder: "http-forwarder.md",
    mtlsauth: "authentication.md",
    oauth2client: "authentication.md",
    oidc: "authentication.md",
    opamp: "opamp.md",
    reliability: "reliability.md",
    sigv4auth: "authentication.md",
    zpages: "health-checks.md#zpages",
  },
};

/**
 * The text of docs/components.md, made from what the components say about themselves.
 *
 * @param {readonly { kind: string, type: string, aliases?: readonly string[], summary: string }[]} factories
 */
export function componentList(factories) {
  const sections = Object.entries(KINDS).map(([kind, { title, purpose }]) => {
    const rows = factories.filter((factory) => factory.kind === kind).sort((a, b) => (a.type < b.type ? -1 : 1));
    return [`## ${title}`, purpose, ["| type | what it does |", "| --- | --- |", ...rows.map(row)].join("\n")].join(
      "\n\n",
    );
  });
  return `${[INTRODUCTION, ...sections].join("\n\n")}\n`;
}

const INTRODUCTION = `# Components

<!-- Made by node scripts/pages/component-list.js from the summaries of the components: edit those. -->

\`sluice components\` prints this list, and \`sluice components otlp\` shows every key of a component with its default.
The Collector's older spellings work too, such as \`otlphttp\` and \`logging\`.
[Coming from the Collector](coming-from-the-collector.md) says what differs from the Collector's component of the same name.`;

const KINDS = {
  receiver: { title: "Receivers", purpose: "Receivers take data in." },
  processor: { title: "Processors", purpose: "Processors change, drop or sample data." },
  exporter: {
    title: "Exporters",
    purpose: "Exporters send data on. Each one that sends data has a [durable queue](reliability.md) in front of it.",
  },
  connector: {
    title: "Connectors",
    purpose: "A connector joins two pipelines: it is an exporter of one and a receiver of the other.",
  },
  extension: { title: "Extensions", purpose: "Extensions serve the whole agent." },
};

function row({ kind, type, aliases = [], summary }) {
  const page = COMPONENT_PAGES[kind][type];
  const name = page === undefined ? `\`${type}\`` : `[\`${type}\`](${page})`;
  const also = aliases.length === 0 ? "" : ` (also ${aliases.map((alias) => `\`${alias}\``).join(", ")})`;
  return `| ${name}${also} | ${summary.replaceAll("|", "\\|")} |`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { builtins } = await import("../../dist/agent/builtins/builtins.js");
  writeFileSync(new URL("../../docs/components.md", import.meta.url), componentList(await builtins()));
}
