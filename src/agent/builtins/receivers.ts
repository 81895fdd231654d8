import type { Builtin } from "./builtin.js";

export const RECEIVERS: readonly Builtin[] = [
  {
    kind: "receiver",
    types: ["app"],
    load: async () => (await import("../../receivers/app.js")).appReceiver,
  },
  {
    kind: "receiver",
    types: ["otlp"],
    load: async () => (await import("../../receivers/otlp/component.js")).otlpReceiver,
  },
  {
    kind: "receiver",
    types: ["receiver_creator"],
    load: async () => (await import("../../receivers/receiver-creator/component.js")).receiverCreator,
  },
  {
    kind: "receiver",
    types: ["zipkin"],
    load: async () => (await import("../../receivers/zipkin/component.js")).zipkinReceiver,
  },
  {
    kind: "receiver",
    types: ["jaeger"],
    load: async () => (await import("../../receivers/otlp/jaeger/component.js")).jaegerReceiver,
  },
  {
    kind: "receiver",
    types: ["kafka"],
    load: async () => (await import("../../receivers/kafka/component.js")).kafkaReceiver,
  },
  {
    kind: "receiver",
    types: ["rabbitmq"],
    load: async () => (await import("../../receivers/rabbitmq/component.js")).rabbitmqReceiver,
  },
  {
    kind: "receiver",
    types: ["aws_sqs"],
    load: async () => (await import("../../receivers/aws-sqs/component.js")).awsSqsReceiver,
  },
  {
    kind: "receiver",
    types: ["aws_s3", "awss3"],
    load: async () => (await import("../../receivers/archive/component.js")).awsS3Receiver,
  },
  {
    kind: "receiver",
    types: ["file"],
    load: async () => (await import("../../receivers/archive/component.js")).fileReceiver,
  },
  {
    kind: "receiver",
    types: ["redis_stream"],
    load: async () => (await import("../../receivers/redis-stream/component.js")).redisStreamReceiver,
  },
  {
    kind: "receiver",
    types: ["nats"],
    load: async () => (await import("../../receivers/nats/component.js")).natsReceiver,
  },
  {
    kind: "receiver",
    types: ["fluent_forward", "fluentforward"],
    load: async () => (await import("../../receivers/fluent-forward/component.js")).fluentForwardReceiver,
  },
  {
    kind: "receiver",
    types: ["postgresql"],
    load: async () => (await import("../../receivers/postgresql/component.js")).postgresqlReceiver,
  },
  {
    kind: "receiver",
    types: ["outbox"],
    load: async () => (await import("../../receivers/outbox/component.js")).outboxReceiver,
  },
  {
    kind: "receiver",
    types: ["file_log", "filelog"],
    load: async () => (await import("../../receivers/file-log/component.js")).fileLogReceiver,
  },
  {
    kind: "receiver",
    types: ["otlp_json_file", "otlpjsonfile"],
    load: async () => (await import("../../receivers/file-log/component.js")).otlpJsonFileReceiver,
  },
  {
    kind: "receiver",
    types: ["prometheus"],
    load: async () => (await import("../../receivers/prometheus/component.js")).prometheusReceiver,
  },
  {
    kind: "receiver",
    types: ["host_metrics", "hostmetrics"],
    load: async () => (await import("../../receivers/host-metrics/component.js")).hostMetricsReceiver,
  },
  {
    kind: "receiver",
    types: ["http_check", "httpcheck"],
    load: async () => (await import("../../receivers/http-check/component.js")).httpCheckReceiver,
  },
  {
    kind: "receiver",
    types: ["tcp_log", "tcplog"],
    load: async () => (await import("../../receivers/net-log/component.js")).tcpLogReceiver,
  },
  {
    kind: "receiver",
    types: ["udp_log", "udplog"],
    load: async () => (await import("../../receivers/net-log/component.js")).udpLogReceiver,
  },
  {
    kind: "receiver",
    types: ["syslog"],
    load: async () => (await import("../../receivers/net-log/component.js")).syslogReceiver,
  },
  {
    kind: "receiver",
    types: ["statsd"],
    load: async () => (await import("../../receivers/statsd/component.js")).statsdReceiver,
  },
  {
    kind: "receiver",
    types: ["prometheus_remote_write", "prometheusremotewrite"],
    load: async () => (await import("../../receivers/prometheus-remote-write/component.js")).remoteWriteReceiver,
  },
  {
    kind: "receiver",
    types: ["splunk_hec"],
    load: async () => (await import("../../receivers/splunk-hec/component.js")).splunkHecReceiver,
  },
  {
    kind: "receiver",
    types: ["webhook_event", "webhookevent"],
    load: async () => (await import("../../receivers/webhook-event/component.js")).webhookEventReceiver,
  },
  {
    kind: "receiver",
    types: ["awsxray"],
    load: async () => (await import("../../receivers/aws-xray/component.js")).awsXrayReceiver,
  },
  {
    kind: "receiver",
    types: ["faro"],
    load: async () => (await import("../../receivers/faro/component.js")).faroReceiver,
  },
  {
    kind: "receiver",
    types: ["mysql"],
    load: async () => (await import("../../receivers/mysql/component.js")).mysqlReceiver,
  },
  {
    kind: "receiver",
    types: ["sql_query", "sqlquery"],
    load: async () => (await import("../../receivers/sql-query/component.js")).sqlQueryReceiver,
  },
  {
    kind: "receiver",
    types: ["redis"],
    load: async () => (await import("../../receivers/redis/component.js")).redisReceiver,
  },
  {
    kind: "receiver",
    types: ["awsecscontainermetrics"],
    load: async () =>
      (await import("../../receivers/aws-ecs-container-metrics/component.js")).ecsContainerMetricsReceiver,
  },
  {
    kind: "receiver",
    types: ["nginx"],
    load: async () => (await import("../../receivers/nginx/component.js")).nginxReceiver,
  },
  {
    kind: "receiver",
    types: ["nop"],
    load: async () => (await import("../../receivers/nop.js")).nopReceiver,
  },
  {
    kind: "receiver",
    types: ["docker_stats"],
    load: async () => (await import("../../receivers/docker-stats/component.js")).dockerStatsReceiver,
  },
  {
    kind: "receiver",
    types: ["kubelet_stats", "kubeletstats"],
    load: async () => (await import("../../receivers/kubelet-stats/component.js")).kubeletStatsReceiver,
  },
  {
    kind: "receiver",
    types: ["k8s_cluster"],
    load: async () => (await import("../../receivers/k8s-cluster/component.js")).k8sClusterReceiver,
  },
  {
    kind: "receiver",
    types: ["k8s_objects", "k8sobjects"],
    load: async () => (await import("../../receivers/k8s-objects/component.js")).k8sObjectsReceiver,
  },
  {
    kind: "receiver",
    types: ["k8s_events"],
    load: async () => (await import("../../receivers/k8s-objects/component.js")).k8sEventsReceiver,
  },
  {
    kind: "receiver",
    types: ["journald"],
    load: async () => (await import("../../receivers/journald/component.js")).journaldReceiver,
  },
  {
    kind: "receiver",
    types: ["kafka_metrics", "kafkametrics"],
    load: async () => (await import("../../receivers/kafka-metrics/component.js")).kafkaMetricsReceiver,
  },
];
