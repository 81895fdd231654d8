import type { WorstCase } from "./components.js";

const DIRECT = { sending_queue: { enabled: false } };
const AWS = { endpoint: "$SINK", region: "eu-west-1", ...DIRECT };
const GRPC = { tls: { insecure: true }, ...DIRECT };

/** Every exporter that needs no broker or database, with a config that makes it work hard. */
export const WORST_EXPORTERS: Readonly<Record<string, WorstCase>> = {
  debug: { exporter: { debug: { verbosity: "detailed" } } },
  file: { exporter: { file: { path: "$FOLDER/$NUMBER.json" } } },
  "otlp_http, JSON": { exporter: { otlphttp: { endpoint: "$SINK", encoding: "json", ...DIRECT } } },
  "otlp_http, snappy": { exporter: { otlphttp: { endpoint: "$SINK", compression: "snappy", ...DIRECT } } },
  "otlp_http, lz4": { exporter: { otlphttp: { endpoint: "$SINK", compression: "lz4", ...DIRECT } } },
  "otlp_http with a queue": { exporter: { otlphttp: { endpoint: "$SINK" } } },
  loki: { signals: ["logs"], exporter: { loki: { endpoint: "$SINK/loki/api/v1/push", ...DIRECT } } },
  elasticsearch: { signals: ["logs", "traces"], exporter: { elasticsearch: { endpoint: "$SINK", ...DIRECT } } },
  opensearch: { signals: ["logs", "traces"], exporter: { opensearch: { http: { endpoint: "$SINK" }, ...DIRECT } } },
  zipkin: { signals: ["traces"], exporter: { zipkin: { endpoint: "$SINK/api/v2/spans", ...DIRECT } } },
  prometheus: { signals: ["metrics"], exporter: { prometheus: { endpoint: "127.0.0.1:0" } } },
  prometheus_remote_write: {
    signals: ["metrics"],
    exporter: { prometheusremotewrite: { endpoint: "$SINK/write", ...DIRECT } },
  },
  clickhouse: { exporter: { clickhouse: { endpoint: "$SINK", create_schema: false, ...DIRECT } } },
  otlp_grpc: { exporter: { otlp_grpc: { endpoint: "$GRPC", ...GRPC } } },
  load_balancing: {
    signals: ["traces"],
    exporter: {
      load_balancing: {
        protocol: { otlp: { tls: { insecure: true } } },
        resolver: { static: { hostnames: ["$GRPC", "$GRPC"] } },
      },
    },
  },
  jaeger: { signals: ["traces"], exporter: { jaeger: { endpoint: "$JAEGER", ...GRPC } } },
  sapm: { signals: ["traces"], exporter: { sapm: { endpoint: "$SINK/v2/trace", ...DIRECT } } },
  aws_s3: {
    exporter: {
      aws_s3: {
        s3uploader: {
          endpoint: "$SINK",
          region: "eu-west-1",
          s3_bucket: "bucket",
          s3_force_path_style: true,
          compression: "gzip",
        },
      },
    },
  },
  azureblob: {
    exporter: {
      azureblob: {
        auth: { type: "connection_string", connection_string: "AccountName=a;AccountKey=a2V5;BlobEndpoint=$SINK" },
      },
    },
  },
  "webhook, a request a batch": {
    except: ["a long text that very many records share", "a large resource of many records"],
    exporter: { webhook: { endpoint: "$SINK", per: "batch", allow_private_addresses: true, ...DIRECT } },
  },
  datadog: {
    maxPeakMiB: 3500,
    exporter: {
      datadog: {
        api: { key: "k" },
        logs: { endpoint: "$SINK" },
        metrics: { endpoint: "$SINK" },
        traces: { endpoint: "$SINK" },
        ...DIRECT,
      },
    },
  },
  awsxray: { signals: ["traces"], exporter: { awsxray: AWS } },
  awscloudwatchlogs: {
    signals: ["logs"],
    exporter: { awscloudwatchlogs: { ...AWS, log_group_name: "g", log_stream_name: "s" } },
  },
  awsemf: { signals: ["metrics"], exporter: { awsemf: AWS } },
  googlecloud: {
    exporter: {
      googlecloud: {
        project: "p",
        log: { endpoint: "$SINK", default_log_name: "l" },
        metric: { endpoint: "$SINK" },
        trace: { endpoint: "$SINK" },
        ...DIRECT,
      },
    },
  },
  googlemanagedprometheus: {
    signals: ["metrics"],
    exporter: { googlemanagedprometheus: { project: "p", metric: { endpoint: "$SINK" }, ...DIRECT } },
  },
  signalfx: { signals: ["metrics"], exporter: { signalfx: { access_token: "t", ingest_url: "$SINK", ...DIRECT } } },
  splunk_hec: { exporter: { splunk_hec: { endpoint: "$SINK", token: "t", ...DIRECT } } },
  coralogix: {
    exporter: {
      coralogix: {
        private_key: "k",
        application_name: "a",
        logs: { endpoint: "$GRPC", tls: { insecure: true } },
        metrics: { endpoint: "$GRPC", tls: { insecure: true } },
        traces: { endpoint: "$GRPC", tls: { insecure: true } },
        ...DIRECT,
      },
    },
  },
  sumologic: { signals: ["logs", "metrics"], exporter: { sumologic: { endpoint: "$SINK", ...DIRECT } } },
  logzio: {
    signals: ["logs", "traces"],
    exporter: { logzio: { account_token: "t", endpoint: "$SINK/v1/logs", ...DIRECT } },
  },
  azuremonitor: {
    maxPeakMiB: 2500,
    exporter: { azuremonitor: { connection_string: "InstrumentationKey=k;IngestionEndpoint=$SINK", ...DIRECT } },
  },
};
