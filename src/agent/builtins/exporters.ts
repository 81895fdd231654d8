import type { Builtin } from "./builtin.js";

export const EXPORTERS: readonly Builtin[] = [
  {
    kind: "exporter",
    types: ["otlp_http", "otlphttp"],
    load: async () => (await import("../../exporters/otlp-http/component.js")).otlpHttpExporter,
  },
  {
    kind: "exporter",
    types: ["otlp_grpc", "otlp"],
    load: async () => (await import("../../exporters/otlp-grpc/component.js")).otlpGrpcExporter,
  },
  {
    kind: "exporter",
    types: ["zipkin"],
    load: async () => (await import("../../exporters/zipkin/component.js")).zipkinExporter,
  },
  {
    kind: "exporter",
    types: ["jaeger"],
    load: async () => (await import("../../exporters/jaeger/component.js")).jaegerExporter,
  },
  {
    kind: "exporter",
    types: ["sapm"],
    load: async () => (await import("../../exporters/jaeger/sapm/component.js")).sapmExporter,
  },
  {
    kind: "exporter",
    types: ["clickhouse"],
    load: async () => (await import("../../exporters/clickhouse/component.js")).clickhouseExporter,
  },
  {
    kind: "exporter",
    types: ["elasticsearch"],
    load: async () => (await import("../../exporters/bulk/elasticsearch/component.js")).elasticsearchExporter,
  },
  {
    kind: "exporter",
    types: ["opensearch"],
    load: async () => (await import("../../exporters/bulk/opensearch/component.js")).openSearchExporter,
  },
  {
    kind: "exporter",
    types: ["loki"],
    load: async () => (await import("../../exporters/loki/component.js")).lokiExporter,
  },
  {
    kind: "exporter",
    types: ["datadog"],
    load: async () => (await import("../../exporters/vendors/datadog/component.js")).datadogExporter,
  },
  {
    kind: "exporter",
    types: ["awsxray"],
    load: async () => (await import("../../exporters/vendors/awsxray/component.js")).awsXrayExporter,
  },
  {
    kind: "exporter",
    types: ["awscloudwatchlogs"],
    load: async () =>
      (await import("../../exporters/vendors/awscloudwatchlogs/component.js")).awsCloudWatchLogsExporter,
  },
  {
    kind: "exporter",
    types: ["awsemf"],
    load: async () => (await import("../../exporters/vendors/awsemf/component.js")).awsEmfExporter,
  },
  {
    kind: "exporter",
    types: ["googlecloud"],
    load: async () => (await import("../../exporters/vendors/googlecloud/component.js")).googleCloudExporter,
  },
  {
    kind: "exporter",
    types: ["googlemanagedprometheus"],
    load: async () =>
      (await import("../../exporters/vendors/googlemanagedprometheus/component.js")).googleManagedPrometheusExporter,
  },
  {
    kind: "exporter",
    types: ["signalfx"],
    load: async () => (await import("../../exporters/vendors/signalfx/component.js")).signalFxExporter,
  },
  {
    kind: "exporter",
    types: ["splunk_hec"],
    load: async () => (await import("../../exporters/vendors/splunkhec/component.js")).splunkHecExporter,
  },
  {
    kind: "exporter",
    types: ["coralogix"],
    load: async () => (await import("../../exporters/vendors/coralogix/component.js")).coralogixExporter,
  },
  {
    kind: "exporter",
    types: ["sumologic"],
    load: async () => (await import("../../exporters/vendors/sumologic/component.js")).sumologicExporter,
  },
  {
    kind: "exporter",
    types: ["logzio"],
    load: async () => (await import("../../exporters/vendors/logzio/component.js")).logzioExporter,
  },
  {
    kind: "exporter",
    types: ["azuremonitor"],
    load: async () => (await import("../../exporters/vendors/azuremonitor/component.js")).azureMonitorExporter,
  },
  {
    kind: "exporter",
    types: ["azureblob", "azure_blob"],
    load: async () => (await import("../../exporters/vendors/azureblob/component.js")).azureBlobExporter,
  },
  {
    kind: "exporter",
    types: ["load_balancing", "loadbalancing"],
    load: async () => (await import("../../exporters/otlp-grpc/load-balancing/component.js")).loadBalancingExporter,
  },
  {
    kind: "exporter",
    types: ["debug", "logging"],
    load: async () => (await import("../../exporters/debug/component.js")).debugExporter,
  },
  {
    kind: "exporter",
    types: ["aws_s3", "awss3"],
    load: async () => (await import("../../exporters/archive/aws-s3/component.js")).awsS3Exporter,
  },
  {
    kind: "exporter",
    types: ["file"],
    load: async () => (await import("../../exporters/archive/file/component.js")).fileExporter,
  },
  {
    kind: "exporter",
    types: ["prometheus"],
    load: async () => (await import("../../exporters/prometheus/component.js")).prometheusExporter,
  },
  {
    kind: "exporter",
    types: ["prometheus_remote_write", "prometheusremotewrite"],
    load: async () => (await import("../../exporters/prometheus/remote-write/component.js")).remoteWriteExporter,
  },
  {
    kind: "exporter",
    types: ["kafka"],
    load: async () => (await import("../../exporters/kafka/component.js")).kafkaExporter,
  },
  {
    kind: "exporter",
    types: ["rabbitmq"],
    load: async () => (await import("../../exporters/rabbitmq/component.js")).rabbitmqExporter,
  },
  {
    kind: "exporter",
    types: ["webhook"],
    load: async () => (await import("../../exporters/alerts/webhook/component.js")).webhookExporter,
  },
  {
    kind: "exporter",
    types: ["sentry"],
    load: async () => (await import("../../exporters/alerts/sentry/component.js")).sentryExporter,
  },
  {
    kind: "exporter",
    types: ["nop"],
    load: async () => (await import("../../exporters/nop.js")).nopExporter,
  },
  {
    kind: "exporter",
    types: ["postgres"],
    load: async () => (await import("../../exporters/postgres/component.js")).postgresExporter,
  },
  {
    kind: "exporter",
    types: ["aws_sqs"],
    load: async () => (await import("../../exporters/aws-sqs/component.js")).awsSqsExporter,
  },
  {
    kind: "exporter",
    types: ["redis_stream"],
    load: async () => (await import("../../exporters/redis-stream/component.js")).redisStreamExporter,
  },
  {
    kind: "exporter",
    types: ["nats"],
    load: async () => (await import("../../exporters/nats/component.js")).natsExporter,
  },
];
