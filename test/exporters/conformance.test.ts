import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { status } from "@grpc/grpc-js";
import { describe, it } from "vitest";
import { sentryExporter } from "../../src/exporters/alerts/sentry/component.js";
import { webhookExporter } from "../../src/exporters/alerts/webhook/component.js";
import { awsS3Exporter } from "../../src/exporters/archive/aws-s3/component.js";
import { fileExporter } from "../../src/exporters/archive/file/component.js";
import { elasticsearchExporter } from "../../src/exporters/bulk/elasticsearch/component.js";
import { openSearchExporter } from "../../src/exporters/bulk/opensearch/component.js";
import { clickhouseExporter } from "../../src/exporters/clickhouse/component.js";
import { DebugExporter, debugExporter } from "../../src/exporters/debug/component.js";
import { jaegerExporter } from "../../src/exporters/jaeger/component.js";
import { sapmExporter } from "../../src/exporters/jaeger/sapm/component.js";
import { lokiExporter } from "../../src/exporters/loki/component.js";
import { nopExporter } from "../../src/exporters/nop.js";
import { otlpGrpcExporter } from "../../src/exporters/otlp-grpc/component.js";
import { loadBalancingExporter } from "../../src/exporters/otlp-grpc/load-balancing/component.js";
import { otlpHttpExporter } from "../../src/exporters/otlp-http/component.js";
import { prometheusExporter } from "../../src/exporters/prometheus/component.js";
import { remoteWriteExporter } from "../../src/exporters/prometheus/remote-write/component.js";
import { awsCloudWatchLogsExporter } from "../../src/exporters/vendors/awscloudwatchlogs/component.js";
import { awsEmfExporter } from "../../src/exporters/vendors/awsemf/component.js";
import { awsXrayExporter } from "../../src/exporters/vendors/awsxray/component.js";
import { azureBlobExporter } from "../../src/exporters/vendors/azureblob/component.js";
import { azureMonitorExporter } from "../../src/exporters/vendors/azuremonitor/component.js";
import { coralogixExporter } from "../../src/exporters/vendors/coralogix/component.js";
import { datadogExporter } from "../../src/exporters/vendors/datadog/component.js";
import { googleCloudExporter } from "../../src/exporters/vendors/googlecloud/component.js";
import { googleManagedPrometheusExporter } from "../../src/exporters/vendors/googlemanagedprometheus/component.js";
import { logzioExporter } from "../../src/exporters/vendors/logzio/component.js";
import { signalFxExporter } from "../../src/exporters/vendors/signalfx/component.js";
import { splunkHecExporter } from "../../src/exporters/vendors/splunkhec/component.js";
import { sumologicExporter } from "../../src/exporters/vendors/sumologic/component.js";
import { zipkinExporter } from "../../src/exporters/zipkin/component.js";
import { Batch, batchFromJson, type ExporterFactory, type Signal } from "../../src/plugin.js";
import { useEnvironment } from "../../src/runtime/system/environment.js";
import { JAEGER_GRPC_PATH } from "../../src/runtime/traces/jaeger-proto.js";
import { type BackendAnswer, exporterConformance, type TestBackend } from "../../src/testing.js";
import { CONDITION_LIMIT_MS } from "../support/limits.js";
import { startSink } from "../support/otlp-sink.js";
import { startBulkServer } from "./bulk/bulk-server.js";
import { GrpcJsServer } from "./grpc-server.js";

async function httpBackend(config: object): Promise<TestBackend> {
  const sink = await startSink();
  return {
    config: { endpoint: sink.url, ...config },
    taken: () => sink.batches,
    answer: (how) => sink.decide(() => HTTP[how()]),
    close: () => sink.close(),
  };
}

/** The server receives no records any more, so only the exporter's answers are tested. */
async function answeringBackend(configOf: (port: number) => object): Promise<TestBackend> {
  let answer: () => BackendAnswer = () => "take";
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      if (request.url?.startsWith("/computeMetadata/")) return response.end('{"access_token":"t"}');
      const status = HTTP[answer()];
      if (status !== undefined) response.writeHead(status).end();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    config: configOf((server.address() as AddressInfo).port),
    answer(how) {
      answer = how;
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Records that are not errors are not sent, so everything counts as accepted. */
async function sentryBackend(): Promise<TestBackend> {
  const dsn = (port: number) => ({ dsn: `http://abc@127.0.0.1:${port}/1`, allow_private_addresses: true });
  const { answer: _, ...backend } = await answeringBackend(dsn);
  return backend;
}

const HTTP = { take: 200, transient: 503, permanent: 400, hang: undefined } as const;

async function bulkBackend(configOf: (url: string) => object): Promise<TestBackend> {
  let answer: () => BackendAnswer = () => "take";
  const server = await startBulkServer(undefined, () => HTTP[answer()]);
  return {
    config: configOf(server.url),
    answer(how) {
      answer = how;
    },
    close: () => server.close(),
  };
}

async function jaegerBackend(): Promise<TestBackend> {
  const { taken: _, ...backend } = await grpcBackend({}, { traces: JAEGER_GRPC_PATH });
  return backend;
}

async function grpcBackend(config: object, paths?: Partial<Record<Signal, string>>): Promise<TestBackend> {
  const server = await new GrpcJsServer(paths).start();
  const taken: Batch[] = [];
  let answer: () => BackendAnswer = () => "take";
  server.respond = (done) => {
    const { signal, body } = server.received.at(-1)!;
    const how = answer();
    if (how === "hang") return;
    if (how === "transient") return done({ code: status.UNAVAILABLE, details: "not now" });
    if (how === "permanent") return done({ code: status.INVALID_ARGUMENT, details: "not ever" });
    if (paths === undefined) taken.push(Batch.admit(signal, body));
    done(null, Buffer.alloc(0));
  };
  return {
    config: { endpoint: `127.0.0.1:${server.port}`, tls: { insecure: true }, ...config },
    taken: () => taken,
    answer(how) {
      answer = how;
    },
    close: () => server.kill(),
  };
}

async function balancedBackend(): Promise<TestBackend> {
  const { config, ...backend } = await grpcBackend({});
  const { endpoint, ...otlp } = config as { endpoint: string };
  return { ...backend, config: { protocol: { otlp }, resolver: { static: { hostnames: [endpoint] } } } };
}

/** The batches that arrive have names that the sent ones had not. */
async function coralogixBackend(): Promise<TestBackend> {
  const { config, taken: _, ...backend } = await grpcBackend({});
  const signals = { logs: config, traces: config, metrics: config };
  return { ...backend, config: { private_key: "k", application_name: "shop", ...signals } };
}

const SIGNAL_OF: Readonly<Record<string, Signal>> = {
  resourceLogs: "logs",
  resourceSpans: "traces",
  resourceMetrics: "metrics",
};

async function fileBackend(): Promise<TestBackend> {
  const directory = await mkdtemp(join(tmpdir(), "sluice-conformance-"));
  const path = join(directory, "out.jsonl");
  return {
    config: { path, fsync: false },
    async taken() {
      const lines = (await readFile(path, "utf8")).split("\n").filter((line) => line !== "");
      return lines.map((line) => batchFromJson(SIGNAL_OF[Object.keys(JSON.parse(line))[0]!]!, line));
    },
    close: () => rm(directory, { recursive: true, force: true }),
  };
}

/** The real exporter, with its output discarded. */
const quietDebug: ExporterFactory = {
  ...debugExporter,
  type: "quiet_debug",
  aliases: [],
  create: (config, context) =>
    new DebugExporter(config as never, context, [new Writable({ write: (_chunk, _encoding, done) => done() })]),
};

const TABLE: readonly [string, ExporterFactory, () => Promise<TestBackend> | TestBackend][] = [
  ["otlp_http, as protobuf", otlpHttpExporter, () => httpBackend({ compression: "none" })],
  ["otlp_http, as packed JSON", otlpHttpExporter, () => httpBackend({ encoding: "json" })],
  ["otlp_grpc", otlpGrpcExporter, () => grpcBackend({ compression: "none" })],
  ["otlp_grpc, packed", otlpGrpcExporter, () => grpcBackend({})],
  ["load_balancing", loadBalancingExporter, balancedBackend],
  ["file", fileExporter, fileBackend],
  ["debug", quietDebug, () => ({ config: { verbosity: "detailed" } })],
  ["prometheus", prometheusExporter, () => ({ config: { endpoint: "127.0.0.1:0" } })],
  [
    "prometheus_remote_write",
    remoteWriteExporter,
    () => answeringBackend((port) => ({ endpoint: `http://127.0.0.1:${port}` })),
  ],
  ["zipkin", zipkinExporter, () => answeringBackend((port) => ({ endpoint: `http://127.0.0.1:${port}` }))],
  ["jaeger", jaegerExporter, jaegerBackend],
  ["sapm", sapmExporter, () => answeringBackend((port) => ({ endpoint: `http://127.0.0.1:${port}/v2/trace` }))],
  ["clickhouse", clickhouseExporter, () => answeringBackend((port) => ({ endpoint: `http://127.0.0.1:${port}` }))],
  ["elasticsearch", elasticsearchExporter, () => bulkBackend((endpoint) => ({ endpoint }))],
  ["opensearch", openSearchExporter, () => bulkBackend((endpoint) => ({ http: { endpoint } }))],
  ["loki", lokiExporter, () => answeringBackend((port) => ({ endpoint: `http://127.0.0.1:${port}` }))],
  [
    "webhook",
    webhookExporter,
    () => answeringBackend((port) => ({ endpoint: `http://127.0.0.1:${port}`, allow_private_addresses: true })),
  ],
  ["sentry", sentryExporter, sentryBackend],
  [
    "datadog",
    datadogExporter,
    () =>
      answeringBackend((port) => {
        const endpoint = `http://127.0.0.1:${port}`;
        return { api: { key: "k" }, logs: { endpoint }, metrics: { endpoint }, traces: { endpoint } };
      }),
  ],
  [
    "aws_s3",
    awsS3Exporter,
    () => {
      useEnvironment({ AWS_ACCESS_KEY_ID: "id", AWS_SECRET_ACCESS_KEY: "secret" });
      return answeringBackend((port) => ({
        s3uploader: { s3_bucket: "archive", endpoint: `http://127.0.0.1:${port}`, s3_force_path_style: true },
      }));
    },
  ],
  [
    "azureblob",
    azureBlobExporter,
    () =>
      answeringBackend((port) => ({
        auth: {
          type: "connection_string",
          connection_string: `AccountName=a;AccountKey=a2V5;BlobEndpoint=http://127.0.0.1:${port}`,
        },
      })),
  ],
  [
    "awsxray",
    awsXrayExporter,
    () => {
      useEnvironment({ AWS_ACCESS_KEY_ID: "id", AWS_SECRET_ACCESS_KEY: "secret" });
      return answeringBackend((port) => ({ endpoint: `http://127.0.0.1:${port}`, region: "eu-west-1" }));
    },
  ],
  [
    "awscloudwatchlogs",
    awsCloudWatchLogsExporter,
    () => {
      useEnvironment({ AWS_ACCESS_KEY_ID: "id", AWS_SECRET_ACCESS_KEY: "secret" });
      return answeringBackend((port) => ({
        endpoint: `http://127.0.0.1:${port}`,
        region: "eu-west-1",
        log_group_name: "g",
        log_stream_name: "s",
      }));
    },
  ],
  [
    "awsemf",
    awsEmfExporter,
    () => {
      useEnvironment({ AWS_ACCESS_KEY_ID: "id", AWS_SECRET_ACCESS_KEY: "secret" });
      return answeringBackend((port) => ({ endpoint: `http://127.0.0.1:${port}`, region: "eu-west-1" }));
    },
  ],
  [
    "googlecloud",
    googleCloudExporter,
    () =>
      answeringBackend((port) => {
        useEnvironment({ GCE_METADATA_HOST: `127.0.0.1:${port}` });
        const endpoint = `http://127.0.0.1:${port}`;
        return { project: "p", log: { endpoint }, metric: { endpoint }, trace: { endpoint } };
      }),
  ],
  [
    "googlemanagedprometheus",
    googleManagedPrometheusExporter,
    () =>
      answeringBackend((port) => {
        useEnvironment({ GCE_METADATA_HOST: `127.0.0.1:${port}` });
        const endpoint = `http://127.0.0.1:${port}`;
        return { project: "p", metric: { endpoint } };
      }),
  ],
  [
    "signalfx",
    signalFxExporter,
    () => answeringBackend((port) => ({ access_token: "t", ingest_url: `http://127.0.0.1:${port}` })),
  ],
  [
    "azuremonitor",
    azureMonitorExporter,
    () =>
      answeringBackend((port) => ({
        connection_string: `InstrumentationKey=k;IngestionEndpoint=http://127.0.0.1:${port}/`,
      })),
  ],
  ["coralogix", coralogixExporter, coralogixBackend],
  ["sumologic", sumologicExporter, () => answeringBackend((port) => ({ endpoint: `http://127.0.0.1:${port}` }))],
  [
    "logzio",
    logzioExporter,
    () => answeringBackend((port) => ({ endpoint: `http://127.0.0.1:${port}`, account_token: "t" })),
  ],
  [
    "splunk_hec",
    splunkHecExporter,
    () => answeringBackend((port) => ({ endpoint: `http://127.0.0.1:${port}`, token: "t" })),
  ],
  ["nop", nopExporter, () => ({ config: {} })],
];

describe.each(TABLE)("exporter %s", (_name, factory, backend) => {
  for (const { name, run } of exporterConformance(factory, { backend, patienceMs: CONDITION_LIMIT_MS })) it(name, run);
});
