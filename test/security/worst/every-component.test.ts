import { expect, it } from "vitest";
import { builtins } from "../../support/builtins.js";
import { WORST_STAGES } from "./components.js";
import { WORST_EXPORTERS } from "./exporters.js";
import { LINE_RECEIVERS } from "./line-receivers.js";
import { WORST_RECEIVERS } from "./receivers.js";

/** Components that no client can give a worst input, and why. */
const WITHOUT: Readonly<Record<string, readonly string[]>> = {
  "reads what a server or file of the operator says, in parts": [
    ...["awsecscontainermetrics", "docker_stats", "host_metrics", "http_check", "k8s_cluster", "k8s_events"],
    ...[
      "k8s_objects",
      "kafka_metrics",
      "kubelet_stats",
      "mysql",
      "nginx",
      "postgresql",
      "prometheus",
      "redis",
      "sql_query",
    ],
  ].map((type) => `receiver ${type}`),
  "reads messages, rows or objects, which are no larger than their broker allows": [
    ...["aws_s3", "aws_sqs", "file", "kafka", "nats", "outbox", "rabbitmq", "redis_stream"].map(
      (type) => `receiver ${type}`,
    ),
  ],
  "writes entries of a queue as messages or rows; needs a broker or a database": [
    ...["aws_sqs", "kafka", "nats", "postgres", "rabbitmq", "redis_stream"].map((type) => `exporter ${type}`),
  ],
  "makes a request for each record, as webhook can": ["exporter sentry"],
  "reads lines of files, as file_log does": ["receiver otlp_json_file", "receiver journald"],
  "takes packets of at most 64 KiB": ["receiver awsxray"],
  "is refused with the advice to use the connector": ["processor spanmetrics"],
  "has no data of its own": ["receiver app", "receiver nop", "receiver receiver_creator", "exporter nop"],
};

it("gives every component the worst input of its format, or says why there is none", async () => {
  const keys = (section: "processor" | "connector" | "exporter") =>
    [...Object.values(WORST_STAGES), ...Object.values(WORST_EXPORTERS)].flatMap((one) =>
      Object.keys(one[section] ?? {}).map((type) => `${section} ${type}`),
    );
  const receivers = [...Object.keys(WORST_RECEIVERS), ...Object.keys(LINE_RECEIVERS), "file_log"];
  const tried = new Set([
    ...(["processor", "connector", "exporter"] as const).flatMap(keys),
    ...receivers.map((id) => `receiver ${id.split("/", 1)[0]}`),
    ...Object.values(WITHOUT).flat(),
  ]);
  const missing = builtins
    .filter(({ kind }) => kind !== "extension")
    .filter(({ kind, type, aliases = [] }) => ![type, ...aliases].some((name) => tried.has(`${kind} ${name}`)))
    .map(({ kind, type }) => `${kind} ${type}`);
  expect(missing).toEqual([]);
});
