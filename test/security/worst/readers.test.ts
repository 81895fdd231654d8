import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

/**
 * What comes from outside is read by one reader for each format, in pieces with bounds. So nobody else parses JSON or
 * reads a socket: each exception is here, with what makes it one.
 */
const JSON_PARSERS: Readonly<Record<string, readonly string[]>> = {
  "the reader itself, and the one of OTLP/JSON, which parses names and numbers": [
    "src/runtime/text/json/json-reader.ts",
    "src/runtime/otlp/json/json-cursor.ts",
    "src/runtime/otlp/json/read-json.ts",
  ],
  "has bounds of its own that mask what is beyond them": ["src/processors/pii/treat-json.ts"],
  "a packet of at most 64 KiB": ["src/receivers/aws-xray/segment-batch.ts"],
  "a text in quotes, whose end was found before": [
    "src/exporters/loki/logfmt.ts",
    "src/receivers/file-log/json-attributes.ts",
    "src/receivers/http-check/certificate.ts",
  ],
  "written by Sluice itself": [
    "src/connectors/spans/service-graph/graph-aggregation.ts",
    "src/exporters/alerts/record-facts.ts",
    "src/exporters/alerts/webhook/component.ts",
    "src/exporters/alerts/webhook/fact-writer.ts",
    "src/exporters/archive/file/framing.ts",
    "src/exporters/vendors/awscloudwatchlogs/component.ts",
    "src/receivers/archive/archive-receiver.ts",
    "src/receivers/file-log/offset-store.ts",
    "src/runtime/brokers/dedup/key-log.ts",
    "src/runtime/ottl/compile/playground.ts",
    "src/runtime/receiving/cursor-store.ts",
  ],
  "a short answer of a server that the config names, or of this machine": [
    "src/exporters/bulk/bulk-sender.ts",
    "src/exporters/clickhouse/component.ts",
    "src/exporters/vendors/awsxray/component.ts",
    "src/exporters/vendors/azuremonitor/component.ts",
    "src/exporters/vendors/cloudwatch-logs.ts",
    "src/exporters/vendors/datadog/component.ts",
    "src/exporters/vendors/google-exporter.ts",
    "src/processors/resource-detection/node-detectors.ts",
    "src/receivers/aws-ecs-container-metrics/component.ts",
    "src/receivers/aws-sqs/queue-watch.ts",
    "src/receivers/docker-stats/docker-api.ts",
    "src/receivers/http-check/validations.ts",
    "src/receivers/journald/journal-entry.ts",
    "src/receivers/prometheus/discovery/file.ts",
    "src/receivers/prometheus/discovery/http.ts",
    "src/runtime/brokers/sqs/sqs-client.ts",
  ],
};

const SOCKET_READERS: Readonly<Record<string, readonly string[]>> = {
  "a protocol of its own, cut in turns of the event loop": ["src/receivers/fluent-forward/forward-connection.ts"],
  "the bodies of gRPC, whose length comes first": ["src/receivers/otlp/grpc-answer.ts"],
  "answers of a server that the config names": [
    "src/receivers/http-check/http-check-client.ts",
    "src/receivers/prometheus/scrape.ts",
    "src/receivers/redis/redis-client.ts",
  ],
  "what a program on this machine prints": ["src/receivers/journald/journalctl.ts"],
};

const root = join(import.meta.dirname, "../../..");
const filesBelow = (folder: string) =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => `${folder}/${name.replaceAll("\\", "/")}`);
const using = (pattern: RegExp, folders: readonly string[]) =>
  folders
    .flatMap(filesBelow)
    .filter((file) => pattern.test(readFileSync(join(root, file), "utf8")))
    .sort();

it("parse JSON from outside in one place", () => {
  const components = ["receivers", "processors", "connectors", "exporters"].map((kind) => `src/${kind}`);
  const runtime = ["brokers", "logs", "otlp", "ottl", "text", "receiving", "archive"].map(
    (room) => `src/runtime/${room}`,
  );
  expect(using(/\bJSON\.parse\(/, [...components, ...runtime])).toEqual(Object.values(JSON_PARSERS).flat().sort());
});

it("read sockets and bodies for the receivers", () => {
  const reads = /\.on\("(?:data|readable|message)"|for await \(const \w+ of (?:\w+\.stdout|unpacked|response\.)/;
  expect(using(reads, ["src/receivers"])).toEqual(Object.values(SOCKET_READERS).flat().sort());
});
