import { api } from "./pages/api.js";
import { components } from "./pages/components.js";
import { deadLetters } from "./pages/dead-letters.js";
import { programs } from "./pages/embedding.js";
import { errors } from "./pages/errors.js";
import { ottlFunctions } from "./pages/ottl-functions.js";
import { pii } from "./pages/pii.js";
import { plugins } from "./pages/plugins.js";
import { rateLimit } from "./pages/rate-limit.js";
import { readme } from "./pages/readme.js";
import { reliability } from "./pages/reliability.js";
import { rxjsRecipes } from "./pages/rxjs-recipes.js";
import { sampling } from "./pages/sampling.js";
import { nodeTests } from "./pages/testing.js";
import { versioning } from "./pages/versioning.js";
import { workers } from "./pages/workers.js";
import type { Page } from "./pages.js";
import { namesAllComponents, namesKeys } from "./says.js";

/** How one page is held to what the code does. */
export interface Row {
  readonly page: string;
  /** The languages of the blocks that are run: all those on the page. */
  readonly runs?: readonly string[];
  /** Declares the tests that do it, or names the file of a test elsewhere. */
  readonly by: ((page: Page) => void) | string;
  /** Whether they start programs: docs.slow.test.ts has them then. */
  readonly isSlow?: true;
}

/** Its SQL is run by test/agent/cli/outbox/postgres-migration.test.ts, against a real server. */
const postgres = namesKeys("outbox", "postgres");

/**
 * What is tried of each page beside what is tried of all: of every page the configs are loaded, JSON is parsed, TypeScript
 * is type-checked, and `sluice` and `npm run` commands are read. So a page with nothing else needs no line here, and a
 * page with blocks in other languages needs one.
 */
export const TABLE: readonly Row[] = [
  { page: "README.md", runs: ["sh", "js", "ts"], by: readme, isSlow: true },
  { page: "docs/api.md", runs: ["ts"], by: api },
  { page: "docs/aws.md", by: namesKeys("awsemf", "awscloudwatchlogs", "awsxray") },
  { page: "docs/azure-monitor.md", by: namesKeys("azuremonitor") },
  { page: "docs/clickhouse.md", by: namesKeys("clickhouse") },
  { page: "docs/coming-from-the-collector.md", by: namesAllComponents },
  { page: "docs/components.md", by: components },
  { page: "docs/config-tests.md", runs: ["sh", "yaml"], by: "test/agent/cli/config-tests/config-tests.test.ts" },
  { page: "docs/coralogix.md", by: namesKeys("coralogix") },
  { page: "docs/count.md", by: namesKeys("count") },
  { page: "docs/dead-letters.md", runs: ["sh"], by: deadLetters, isSlow: true },
  { page: "docs/fluent-forward.md", by: namesKeys("fluent_forward") },
  { page: "docs/postgresql.md", by: namesKeys("postgresql") },
  { page: "docs/journald.md", by: namesKeys("journald") },
  { page: "docs/k8s-cluster.md", by: namesKeys("k8s_cluster") },
  { page: "docs/k8s-objects.md", by: namesKeys("k8s_objects", "k8s_events") },
  { page: "docs/kubelet-stats.md", by: namesKeys("kubelet_stats") },
  { page: "docs/datadog.md", by: namesKeys("datadog") },
  { page: "docs/docker-stats.md", by: namesKeys("docker_stats") },
  { page: "docs/elasticsearch.md", by: namesKeys("elasticsearch", "opensearch") },
  { page: "docs/embedding.md", runs: ["js"], by: programs, isSlow: true },
  { page: "docs/errors.md", by: errors },
  { page: "docs/exceptions.md", by: namesKeys("exceptions") },
  { page: "docs/failover.md", by: namesKeys("failover") },
  { page: "docs/file-log.md", by: namesKeys("file_log", "otlp_json_file") },
  { page: "docs/google-cloud.md", by: namesKeys("googlecloud", "googlemanagedprometheus") },
  { page: "docs/azure-blob.md", by: namesKeys("azureblob") },
  { page: "docs/signalfx.md", by: namesKeys("signalfx", "sapm") },
  { page: "docs/splunk.md", by: namesKeys("splunk_hec") },
  { page: "docs/groupbyattrs.md", by: namesKeys("groupbyattrs") },
  { page: "docs/handlers.md", runs: ["js"], by: "test/end-to-end/rabbitmq-handler.test.ts" },
  { page: "docs/host-metrics.md", by: namesKeys("host_metrics") },
  { page: "docs/http-check.md", by: namesKeys("http_check") },
  { page: "docs/install.md", runs: ["sh"], by: "test/packaging/deployment.test.ts" },
  { page: "docs/metrics-transform.md", by: namesKeys("metrics_transform") },
  { page: "docs/aws-sqs.md", by: namesKeys("aws_sqs") },
  { page: "docs/nats.md", by: namesKeys("nats") },
  { page: "docs/opamp.md", by: namesKeys("opamp") },
  { page: "docs/ottl-functions.md", runs: ["ottl"], by: ottlFunctions },
  { page: "docs/jaeger.md", by: namesKeys("jaeger") },
  { page: "docs/k8s-attributes.md", by: namesKeys("k8s_attributes") },
  { page: "docs/kafka-metrics.md", by: namesKeys("kafka_metrics") },
  { page: "docs/kafka.md", by: namesKeys("kafka") },
  { page: "docs/load-balancing.md", by: namesKeys("load_balancing") },
  { page: "docs/loki.md", by: namesKeys("loki") },
  { page: "docs/network-logs.md", by: namesKeys("tcp_log", "udp_log", "syslog") },
  { page: "docs/nginx.md", by: namesKeys("nginx") },
  { page: "docs/redis-metrics.md", by: namesKeys("redis") },
  { page: "docs/health-checks.md", by: namesKeys("healthcheckv2") },
  { page: "docs/http-forwarder.md", by: namesKeys("http_forwarder") },
  { page: "docs/span.md", by: namesKeys("span") },
  { page: "docs/statsd.md", by: namesKeys("statsd") },
  { page: "docs/ottl.md", runs: ["js"], by: "test/ottl.test.ts" },
  { page: "docs/pii.md", runs: ["sh"], by: pii },
  { page: "docs/plugins.md", runs: ["js", "sh", "yaml"], by: plugins, isSlow: true },
  { page: "docs/postgres.md", runs: ["sql"], by: postgres },
  { page: "docs/prometheus.md", by: namesKeys("prometheus", "prometheus_remote_write") },
  { page: "docs/rabbitmq.md", by: namesKeys("rabbitmq") },
  { page: "docs/rate-limit.md", by: rateLimit },
  { page: "docs/redis.md", by: namesKeys("redis_stream") },
  { page: "docs/reliability.md", by: reliability },
  { page: "docs/resource-detection.md", by: namesKeys("resource_detection") },
  { page: "docs/routing.md", by: namesKeys("routing") },
  { page: "docs/runbook.md", runs: ["sh"], by: "test/packaging/prometheus.test.ts" },
  { page: "docs/rxjs-recipes.md", runs: ["js"], by: rxjsRecipes },
  { page: "docs/sampling.md", by: sampling },
  { page: "docs/testing.md", runs: ["js"], by: nodeTests, isSlow: true },
  { page: "docs/webhook.md", by: namesKeys("webhook", "sentry") },
  { page: "docs/webhook-event.md", by: namesKeys("webhook_event") },
  { page: "docs/scaling.md", runs: ["sh"], by: "test/packaging/helm.test.ts" },
  { page: "docs/service-graph.md", by: namesKeys("service_graph") },
  { page: "docs/span-metrics.md", by: namesKeys("span_metrics", "spanmetrics") },
  { page: "docs/temporality.md", by: namesKeys("cumulative_to_delta", "delta_to_cumulative") },
  { page: "docs/versioning.md", runs: ["js"], by: versioning },
  { page: "docs/workers.md", by: workers },
  { page: "docs/zipkin.md", by: namesKeys("zipkin") },
];

/** Pages made from the code, of which nothing was written by hand. */
export const GENERATED: readonly string[] = ["docs/api.md", "docs/errors.md", "docs/ottl-functions.md"];
