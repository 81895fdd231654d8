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
import { streamProcessors } from "./pages/stream-processors.js";
import { nodeTests } from "./pages/testing.js";
import { fromTheCollector, gateway, orderService } from "./pages/tutorials.js";
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
  { page: "docs/reference/api.md", runs: ["ts"], by: api },
  { page: "docs/how-to/aws.md", by: namesKeys("awsemf", "awscloudwatchlogs", "exporter awsxray") },
  { page: "docs/components/exporters/azuremonitor.md", by: namesKeys("azuremonitor") },
  { page: "docs/components/exporters/clickhouse.md", by: namesKeys("clickhouse") },
  { page: "docs/tutorials/from-the-collector.md", runs: ["sh", "js", "yaml"], by: fromTheCollector, isSlow: true },
  { page: "docs/tutorials/gateway.md", runs: ["sh", "js", "yaml"], by: gateway, isSlow: true },
  { page: "docs/tutorials/order-service.md", runs: ["sh", "js", "yaml"], by: orderService, isSlow: true },
  { page: "docs/coming-from-the-collector.md", by: namesAllComponents },
  { page: "docs/components/README.md", by: components },
  { page: "docs/how-to/config-tests.md", runs: ["sh", "yaml"], by: "test/agent/cli/config-tests/config-tests.test.ts" },
  { page: "docs/components/exporters/coralogix.md", by: namesKeys("coralogix") },
  { page: "docs/components/exporters/sumologic.md", by: namesKeys("sumologic") },
  { page: "docs/components/exporters/logzio.md", by: namesKeys("logzio") },
  { page: "docs/components/connectors/count.md", by: namesKeys("count") },
  { page: "docs/operate/dead-letters.md", runs: ["sh"], by: deadLetters, isSlow: true },
  { page: "docs/components/receivers/fluent_forward.md", by: namesKeys("fluent_forward") },
  { page: "docs/components/receivers/postgresql.md", by: namesKeys("postgresql") },
  { page: "docs/components/receivers/journald.md", by: namesKeys("journald") },
  { page: "docs/components/receivers/receiver_creator.md", by: namesKeys("receiver_creator") },
  { page: "docs/components/extensions/k8s_observer.md", by: namesKeys("k8s_observer") },
  { page: "docs/components/extensions/k8s_leader_elector.md", by: namesKeys("k8s_leader_elector") },
  { page: "docs/components/extensions/host_observer.md", by: namesKeys("host_observer") },
  { page: "docs/components/receivers/k8s_cluster.md", by: namesKeys("k8s_cluster") },
  { page: "docs/how-to/kubernetes-objects.md", by: namesKeys("k8s_objects", "k8s_events") },
  { page: "docs/components/receivers/kubelet_stats.md", by: namesKeys("kubelet_stats") },
  { page: "docs/components/exporters/datadog.md", by: namesKeys("datadog") },
  { page: "docs/components/receivers/docker_stats.md", by: namesKeys("docker_stats") },
  { page: "docs/components/exporters/elasticsearch.md", by: namesKeys("elasticsearch", "opensearch") },
  { page: "docs/extend/embedding.md", runs: ["js"], by: programs, isSlow: true },
  { page: "docs/reference/errors.md", by: errors },
  { page: "docs/components/connectors/exceptions.md", by: namesKeys("exceptions") },
  { page: "docs/components/connectors/failover.md", by: namesKeys("failover") },
  { page: "docs/components/receivers/file_log.md", by: namesKeys("file_log", "otlp_json_file") },
  { page: "docs/how-to/google-cloud.md", by: namesKeys("googlecloud", "googlemanagedprometheus") },
  { page: "docs/components/exporters/aws_s3.md", by: namesKeys("exporter aws_s3") },
  { page: "docs/components/exporters/azureblob.md", by: namesKeys("azureblob") },
  { page: "docs/components/exporters/signalfx.md", by: namesKeys("signalfx", "sapm") },
  { page: "docs/how-to/splunk.md", by: namesKeys("splunk_hec") },
  { page: "docs/components/processors/groupbyattrs.md", by: namesKeys("groupbyattrs") },
  { page: "docs/extend/handlers.md", runs: ["js"], by: "test/end-to-end/rabbitmq-handler.test.ts" },
  { page: "docs/components/receivers/host_metrics.md", by: namesKeys("host_metrics") },
  { page: "docs/components/receivers/http_check.md", by: namesKeys("http_check") },
  { page: "docs/start/install.md", runs: ["sh"], by: "test/packaging/deployment.test.ts" },
  { page: "docs/components/processors/metrics_transform.md", by: namesKeys("metrics_transform") },
  { page: "docs/how-to/aws-sqs.md", by: namesKeys("aws_sqs") },
  { page: "docs/how-to/nats.md", by: namesKeys("nats") },
  { page: "docs/components/extensions/opamp.md", by: namesKeys("opamp") },
  { page: "docs/reference/ottl-functions.md", runs: ["ottl"], by: ottlFunctions },
  { page: "docs/how-to/jaeger.md", by: namesKeys("jaeger") },
  { page: "docs/components/processors/k8s_attributes.md", by: namesKeys("k8s_attributes") },
  { page: "docs/components/receivers/kafka_metrics.md", by: namesKeys("kafka_metrics") },
  { page: "docs/how-to/kafka.md", by: namesKeys("kafka") },
  { page: "docs/components/exporters/load_balancing.md", by: namesKeys("load_balancing") },
  { page: "docs/components/exporters/loki.md", by: namesKeys("loki") },
  { page: "docs/how-to/network-logs.md", by: namesKeys("tcp_log", "udp_log", "syslog") },
  { page: "docs/components/receivers/nginx.md", by: namesKeys("nginx") },
  { page: "docs/components/receivers/awsecscontainermetrics.md", by: namesKeys("awsecscontainermetrics") },
  { page: "docs/components/receivers/redis.md", by: namesKeys("redis") },
  { page: "docs/components/receivers/mysql.md", by: namesKeys("mysql") },
  { page: "docs/components/receivers/sql_query.md", by: namesKeys("sql_query") },
  { page: "docs/operate/health-checks.md", by: namesKeys("healthcheckv2") },
  { page: "docs/components/extensions/http_forwarder.md", by: namesKeys("http_forwarder") },
  { page: "docs/components/extensions/insight.md", by: namesKeys("insight") },
  { page: "docs/components/processors/span.md", by: namesKeys("span") },
  { page: "docs/components/receivers/statsd.md", by: namesKeys("statsd") },
  { page: "docs/how-to/ottl.md", runs: ["js"], by: "test/ottl.test.ts" },
  { page: "docs/how-to/pii.md", runs: ["sh"], by: pii },
  { page: "docs/extend/plugins.md", runs: ["js", "sh", "yaml"], by: plugins, isSlow: true },
  { page: "docs/how-to/outbox-and-postgres.md", runs: ["sql"], by: postgres },
  { page: "docs/how-to/prometheus.md", by: namesKeys("prometheus", "prometheus_remote_write") },
  { page: "docs/how-to/rabbitmq.md", by: namesKeys("rabbitmq") },
  { page: "docs/components/processors/rate_limit.md", by: rateLimit },
  { page: "docs/how-to/recipes.md", runs: ["sh"], by: "test/docs/site.test.ts" },
  { page: "docs/how-to/redis-streams.md", by: namesKeys("redis_stream") },
  { page: "docs/operate/reliability.md", by: reliability },
  { page: "docs/components/processors/resource_detection.md", by: namesKeys("resource_detection") },
  { page: "docs/components/connectors/routing.md", by: namesKeys("routing") },
  { page: "docs/operate/runbook.md", runs: ["sh"], by: "test/packaging/prometheus.test.ts" },
  { page: "docs/extend/rxjs-recipes.md", runs: ["js"], by: rxjsRecipes },
  { page: "docs/how-to/sampling.md", by: sampling },
  { page: "docs/extend/stream-processors.md", runs: ["js"], by: streamProcessors },
  { page: "docs/extend/testing.md", runs: ["js"], by: nodeTests, isSlow: true },
  { page: "docs/components/exporters/webhook.md", by: namesKeys("webhook", "sentry") },
  { page: "docs/components/receivers/webhook_event.md", by: namesKeys("webhook_event") },
  { page: "docs/operate/scaling.md", runs: ["sh"], by: "test/packaging/helm.test.ts" },
  { page: "docs/components/connectors/service_graph.md", by: namesKeys("service_graph") },
  { page: "docs/components/connectors/span_metrics.md", by: namesKeys("span_metrics", "spanmetrics") },
  { page: "docs/how-to/temporality.md", by: namesKeys("cumulative_to_delta", "delta_to_cumulative") },
  { page: "docs/components/processors/versioning.md", runs: ["js"], by: versioning },
  { page: "docs/operate/workers.md", by: workers },
  { page: "docs/how-to/zipkin.md", by: namesKeys("zipkin") },
];

/** Pages that are generated from the code as a whole. */
export const GENERATED: readonly string[] = [
  "docs/reference/api.md",
  "docs/reference/errors.md",
  "docs/reference/ottl-functions.md",
];
