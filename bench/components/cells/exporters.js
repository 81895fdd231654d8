import { mkdtempSync, rmSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as zlib from "node:zlib";
import { Batch } from "../../../dist/plugin.js";
import { silentLogger } from "../../../dist/runtime/contract/observability.js";
import { useEnvironment } from "../../../dist/runtime/system/environment.js";
import { component, sending } from "../kit.js";
import { logs, RENDERED_SERIES, seeded, spans, sums } from "../load.js";

const BESIDE = "otlp_http with the same batch";
const urlOf = (/** @type {number} */ port) => `http://127.0.0.1:${port}`;
const PRIVATE = { allow_private_addresses: true };

/**
 * Exporters that get one batch after another, with a thousand records each.
 * @type {Record<string, import("../cells.js").Cell>}
 */
export const EXPORTER_CELLS = {
  "prometheus exporter, 100,000 series taken in": {
    of: "exporter/prometheus",
    unit: "sample",
    start: () => startRendering(true),
  },
  "prometheus exporter, 100,000 series shown": {
    of: "exporter/prometheus",
    unit: "sample",
    goalBlockMs: 20,
    makesOthers: true,
    start: () => startRendering(false),
    drive:
      async ({ port }) =>
      () =>
        showSeries(port),
  },
  "prometheus_remote_write 1.0, 10,000 series": {
    ...cell(
      "prometheus_remote_write",
      "sample",
      ({ target }) => ({ endpoint: `${urlOf(target)}/api/v1/write` }),
      () => Array.from({ length: 40 }, (_, turn) => Batch.admit("metrics", sums(1000, turn, (turn % 10) * 1000))),
    ),
    goal: 1.5,
  },
  "loki, twenty streams": cell("loki", "record", ({ target }) => ({
    endpoint: `${urlOf(target)}/loki/api/v1/push`,
    labels: { attributes: { "http.route": "route" } },
  })),
  clickhouse: cell("clickhouse", "record", ({ target }) => ({
    endpoint: urlOf(target),
    create_schema: false,
    compress: "none",
  })),
  elasticsearch: cell("elasticsearch", "record", ({ target }) => ({
    endpoint: urlOf(target),
    compression: "none",
  })),
  opensearch: cell("opensearch", "record", ({ target }) => ({ http: { endpoint: urlOf(target) } })),
  otlp_grpc: cell("otlp_grpc", "record", ({ grpc }) => overGrpc(grpc[0])),
  "load_balancing, three endpoints": cell(
    "load_balancing",
    "span",
    ({ grpc }) => ({
      protocol: { otlp: { tls: { insecure: true }, compression: "none" } },
      resolver: { static: { hostnames: grpc.map((port) => `127.0.0.1:${port}`) } },
    }),
    traces,
  ),
  "jaeger exporter": cell("jaeger", "span", ({ grpc }) => overGrpc(grpc[0]), traces),
  "aws_s3, OTLP/JSON, gzip": cell("aws_s3", "record", ({ target }) => archiveTo(target, "gzip")),
  ...("zstdCompressSync" in zlib && {
    "aws_s3, protobuf, zstd": cell("aws_s3", "record", ({ target }) => ({
      ...archiveTo(target, "zstd"),
      marshaler: "otlp_proto",
    })),
  }),
  "azureblob, OTLP/JSON": cell("azureblob", "record", ({ target }) => ({
    auth: {
      type: "connection_string",
      connection_string: `AccountName=a;AccountKey=a2V5;BlobEndpoint=${urlOf(target)}`,
    },
  })),
  "sapm exporter": cell("sapm", "span", ({ target }) => ({ endpoint: `${urlOf(target)}/v2/trace` }), traces),
  "zipkin exporter": cell("zipkin", "span", ({ target }) => ({ endpoint: `${urlOf(target)}/api/v2/spans` }), traces),
  "webhook, a request a batch": cell("webhook", "record", ({ target }) => ({
    endpoint: urlOf(target),
    per: "batch",
    ...PRIVATE,
  })),
  "webhook, a request a record": cell("webhook", "record", ({ target }) => ({ endpoint: urlOf(target), ...PRIVATE })),
  "sentry, a request a record": cell("sentry", "record", ({ target }) => ({
    dsn: `http://abc123@127.0.0.1:${target}/42`,
    min_severity: "info",
    ...PRIVATE,
  })),
  "file, JSON": inFolder("file", (folder) => ({ path: join(folder, "out.json"), rotation: ROTATION })),
  "file, protobuf": inFolder("file", (folder) => ({ path: join(folder, "out"), format: "proto", rotation: ROTATION })),
  "debug, every field": inFolder("debug", () => ({ verbosity: "detailed", output_paths: ["/dev/null"] })),
  "datadog, logs": cell("datadog", "record", ({ target }) => ({
    api: { key: "k" },
    logs: { endpoint: urlOf(target), use_compression: false },
  })),
  "datadog, sums": cell(
    "datadog",
    "sample",
    ({ target }) => ({ api: { key: "k" }, metrics: { endpoint: urlOf(target) } }),
    () => Array.from({ length: 40 }, (_, turn) => Batch.admit("metrics", sums(1000, turn, (turn % 10) * 1000))),
  ),
  awsxray: cell("awsxray", "span", ({ target }) => aws(target), traces),
  awscloudwatchlogs: cell("awscloudwatchlogs", "record", ({ target }) => ({
    ...aws(target),
    log_group_name: "g",
    log_stream_name: "s",
  })),
  "awsemf, sums": cell(
    "awsemf",
    "sample",
    ({ target }) => aws(target),
    () => Array.from({ length: 40 }, (_, turn) => Batch.admit("metrics", sums(1000, turn, (turn % 10) * 1000))),
  ),
  googlecloud: google("googlecloud", "record", (endpoint) => ({ log: { endpoint } }), [
    Batch.admit("logs", logs(1000)),
  ]),
  "googlemanagedprometheus, sums": google(
    "googlemanagedprometheus",
    "sample",
    (endpoint) => ({ metric: { endpoint } }),
    Array.from({ length: 40 }, (_, turn) => Batch.admit("metrics", sums(1000, turn, (turn % 10) * 1000))),
  ),
  "signalfx, sums": cell(
    "signalfx",
    "sample",
    ({ target }) => ({ access_token: "t", ingest_url: urlOf(target) }),
    () => Array.from({ length: 40 }, (_, turn) => Batch.admit("metrics", sums(1000, turn, (turn % 10) * 1000))),
  ),
  coralogix: cell("coralogix", "record", ({ grpc }) => ({
    private_key: "k",
    application_name: "shop",
    logs: overGrpc(grpc[0]),
  })),
  sumologic: cell("sumologic", "record", ({ target }) => ({ endpoint: urlOf(target), compression: "none" })),
  logzio: cell("logzio", "record", ({ target }) => ({
    account_token: "t",
    endpoint: `${urlOf(target)}/v1/logs`,
    compression: "none",
  })),
  "splunk_hec, logs": cell("splunk_hec", "record", ({ target }) => ({ endpoint: urlOf(target), token: "t" })),
  azuremonitor: cell("azuremonitor", "record", ({ target }) => ({
    connection_string: `InstrumentationKey=k;IngestionEndpoint=${urlOf(target)}`,
  })),
  nop: cell("nop", "record", () => ({})),
};

const ROTATION = { max_megabytes: 50, max_backups: 1 };

/** @typedef {import("../cells.js").CellSetting} CellSetting */

/** @returns {import("../cells.js").Cell} */
function cell(
  /** @type {string} */ type,
  /** @type {string} */ unit,
  /** @type {(setting: CellSetting) => object} */ keysOf,
  batches = () => [Batch.admit("logs", logs(1000))],
) {
  const of = `exporter/${type}`;
  const start = (/** @type {CellSetting} */ setting) => sending(of, keysOf(setting), batches(), setting);
  return { of, unit, base: BESIDE, start };
}

/** An exporter that writes files, in its own folder. @returns {import("../cells.js").Cell} */
function inFolder(/** @type {string} */ type, /** @type {(folder: string) => object} */ keysOf) {
  const of = `exporter/${type}`;
  const start = async (/** @type {CellSetting} */ setting) => {
    const folder = mkdtempSync(join(tmpdir(), "sluice-bench-exporter-"));
    const running = await sending(of, keysOf(folder), [Batch.admit("logs", logs(1000))], setting);
    const stop = async () => {
      await running.stop();
      rmSync(folder, { recursive: true, force: true });
    };
    return { ...running, stop };
  };
  return { of, unit: "record", base: BESIDE, start };
}

/** Keys of the environment's kind, which every cell may have. */
function aws(/** @type {number} */ port) {
  useEnvironment({ AWS_ACCESS_KEY_ID: "id", AWS_SECRET_ACCESS_KEY: "secret" });
  return { endpoint: urlOf(port), region: "eu-west-1" };
}

/** An archive in a server that takes everything. */
function archiveTo(/** @type {number} */ port, /** @type {string} */ compression) {
  const { endpoint, region } = aws(port);
  return { s3uploader: { endpoint, region, s3_bucket: "archive", s3_force_path_style: true, compression } };
}

/**
 * An exporter to Google, with a metadata server that gives it a token.
 * @returns {import("../cells.js").Cell}
 */
function google(
  /** @type {string} */ type,
  /** @type {string} */ unit,
  /** @type {(endpoint: string) => object} */ keysOf,
  /** @type {Batch[]} */ batches,
) {
  const of = `exporter/${type}`;
  const start = async (/** @type {CellSetting} */ setting) => {
    const server = http.createServer((_request, response) => response.end('{"access_token":"t","expires_in":3600}'));
    await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
    const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
    useEnvironment({ GCE_METADATA_HOST: `127.0.0.1:${port}` });
    const running = await sending(of, { project: "p", ...keysOf(urlOf(setting.target)) }, batches, setting);
    const stop = async () => {
      await running.stop();
      server.close();
    };
    return { ...running, stop };
  };
  return { of, unit, base: BESIDE, start };
}

function overGrpc(/** @type {number} */ port) {
  return { endpoint: `127.0.0.1:${port}`, tls: { insecure: true }, compression: "none" };
}

function traces() {
  return [Batch.admit("traces", spans(1000, 100, seeded()))];
}

async function startRendering(/** @type {boolean} */ isTakingIn) {
  let port = 0;
  const logger = {
    ...silentLogger,
    info: (/** @type {{ endpoint: string }} */ { endpoint }) => {
      port = Number(endpoint.split(":").at(-1));
    },
  };
  const exporter = await component("exporter/prometheus", { endpoint: "127.0.0.1:0" }, { logger });
  await exporter.start?.();
  let [at, count] = [0, 0];
  const batches = parts(RENDERED_SERIES, 10_000).map((from) => Batch.admit("metrics", sums(10_000, 1, from)));
  for (const batch of batches) await exporter.send(batch, new AbortController().signal);
  const turn = async () => {
    const batch = batches[at++ % batches.length];
    await exporter.send(batch, new AbortController().signal);
    count += batch.count;
    return batch.count;
  };
  // The scraping side counts rendered series.
  return isTakingIn
    ? { port, turn, count: () => count, stop: async () => exporter.stop?.() }
    : { port, count: () => RENDERED_SERIES, stop: async () => exporter.stop?.() };
}

function parts(/** @type {number} */ total, /** @type {number} */ size) {
  return Array.from({ length: Math.ceil(total / size) }, (_, i) => i * size);
}

const agent = new http.Agent({ keepAlive: true });

/** @returns {Promise<number>} */
function showSeries(/** @type {number} */ port) {
  return new Promise((resolve, reject) => {
    const request = http.get({ host: "127.0.0.1", port, path: "/metrics", agent }, (response) => {
      let size = 0;
      response.on("data", (chunk) => {
        size += chunk.length;
      });
      response.on("error", reject);
      response.on("end", () =>
        size >= RENDERED_SERIES * 50 ? resolve(RENDERED_SERIES) : reject(new Error(`the page has only ${size} bytes`)),
      );
    });
    request.on("error", reject);
  });
}
