import { isIP } from "node:net";
import { z } from "zod";
import { duration, ignored, secret, section, unsupported } from "#contract/schema";
import {
  hostPort,
  loadClientTls,
  plainTlsMessage,
  renewClientTls,
  type TlsClientConfig,
  type TlsClientOptions,
  tlsClient,
} from "#net";
import type { KafkaConnectionOptions, KafkaSaslOptions } from "./client.js";

/** Package of the Kafka client. Newer versions do not run on every Node.js version that Sluice supports. */
export const KAFKA_CLIENT = "@platformatic/kafka@1";

const MECHANISMS = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] as const;

const sasl = z.strictObject({
  username: z.string().min(1, "expected a user name").meta({ description: "The user." }),
  password: secret().meta({ description: "The password." }),
  mechanism: z.enum(MECHANISMS).default("PLAIN").meta({ description: "The SASL mechanism." }),
  version: ignored("the version is negotiated with the broker"),
  aws_msk: unsupported("AWS_MSK_IAM is not supported; use a user with SCRAM-SHA-512"),
});

const plainText = z.strictObject({
  username: z.string().min(1, "expected a user name").meta({ description: "The user." }),
  password: secret().meta({ description: "The password." }),
});

const auth = z
  .strictObject({
    sasl: section(sasl).optional().meta({ description: "A user with a password." }),
    plain_text: section(plainText)
      .optional()
      .meta({ description: "The same as sasl with the mechanism PLAIN, as older configs write it." }),
    tls: section(tlsClient())
      .optional()
      .meta({ description: "The same as tls beside auth, as older configs write it." }),
    kerberos: unsupported("Kerberos is not supported; use sasl"),
  })
  .refine(({ sasl: one, plain_text: other }) => !(one && other), "expected one of sasl and plain_text");

/** Connection keys that the receiver and the exporter share. */
export const kafkaConnectionKeys = {
  brokers: z
    .preprocess((value) => (typeof value === "string" ? value.split(",").map((each) => each.trim()) : value), brokers())
    .default(["localhost:9092"])
    .meta({ description: "Bootstrap brokers, as host:port." }),
  client_id: z
    .string()
    .min(1)
    .default("sluice")
    .meta({ description: "The client id in the broker's logs and quotas." }),
  tls: section(tlsClient()).optional().meta({ description: "Speak TLS to the brokers. Absent: plain TCP." }),
  auth: section(auth).optional().meta({ description: "Authentication to the brokers." }),
  connect_timeout: duration().default(5000).meta({ description: "How long a connection may take to open." }),
  request_timeout: duration().default(10_000).meta({ description: "How long a broker may take to answer." }),
  protocol_version: ignored("versions are negotiated with the brokers"),
  resolve_canonical_bootstrap_servers_only: ignored("names are resolved by the system"),
  conn_idle_timeout: ignored("a connection is kept until the broker closes it"),
  metadata: ignored("metadata is refreshed when a broker reports that it is out of date"),
  rack_id: ignored("records are read from the leader of a partition"),
  use_leader_epoch: ignored("leader epochs are not sent"),
  telemetry: ignored("metrics of the receiver and the queue are always counted"),
};

function brokers() {
  return z.array(hostPort("kafka:9092")).min(1, "expected a broker, such as kafka:9092");
}

const connection = z.strictObject(kafkaConnectionKeys);

/** The parsed connection keys. */
type KafkaConnectionConfig = z.infer<typeof connection>;

/** Connection options for the client library. Throws a `StartError` when a file of `tls` cannot be read. */
export async function kafkaConnection(config: KafkaConnectionConfig): Promise<KafkaConnectionOptions> {
  const { tls = config.auth?.tls } = config;
  const path = config.tls ? ["tls"] : ["auth", "tls"];
  const login = saslOptions(config.auth);
  return {
    clientId: config.client_id,
    bootstrapBrokers: config.brokers,
    connectTimeout: config.connect_timeout,
    timeout: config.request_timeout,
    requestTimeout: config.request_timeout,
    // The callers retry, with their own delays, log messages and limits.
    retries: 0,
    autocreateTopics: false,
    metadataMaxAge: METADATA_MAX_AGE_MS,
    ...(tls && !tls.insecure && { tls: await loadClientTls(tls, path), tlsServerName: serverName(config, tls) }),
    ...(login && { sasl: login }),
  };
}

/** An IP address is not a valid server name: the certificate is then compared with the address only. */
function serverName({ brokers }: KafkaConnectionConfig, { server_name_override: name }: TlsClientConfig) {
  return name || brokers.some((broker) => isIP(broker.replace(/:\d+$/, "").replace(/^\[|\]$/g, "")) === 0);
}

/** Reloads certificates after a failed connection, because they may have been renewed. */
export function renewKafkaTls({ tls }: KafkaConnectionOptions, config: KafkaConnectionConfig): Promise<void> {
  return tls === undefined
    ? Promise.resolve()
    : renewClientTls(tls as TlsClientOptions, (config.tls ?? config.auth?.tls)!);
}

/** How long a new leader or a new partition may go unnoticed if no response mentions it. */
const METADATA_MAX_AGE_MS = 60_000;

function saslOptions(config: KafkaConnectionConfig["auth"]): KafkaSaslOptions | undefined {
  if (config?.plain_text) return { mechanism: "PLAIN", ...config.plain_text };
  if (config?.sasl === undefined) return undefined;
  const { mechanism, username, password } = config.sasl;
  return { mechanism, username, password };
}

/** The messages of an error and its causes: the client's own message only says which call failed. */
export function kafkaErrorMessage(error: unknown): string {
  const words = new Set<string>();
  collectMessages(error, words, 0);
  return [...words].join(": ");
}

function collectMessages(error: unknown, words: Set<string>, depth: number): void {
  if (!(error instanceof Error) || depth > 4) return;
  words.add(plainTlsMessage(error.message).replace(/\.$/, ""));
  for (const inner of error instanceof AggregateError ? error.errors.slice(0, 3) : [])
    collectMessages(inner, words, depth + 1);
  collectMessages(error.cause, words, depth + 1);
}

/** The broker's error names, such as NOT_LEADER_OR_FOLLOWER, from anywhere in the error. */
export function kafkaErrorIds(error: unknown, depth = 0): string[] {
  if (!(error instanceof Error) || depth > 4) return [];
  const { apiId } = error as { readonly apiId?: string };
  const inner = error instanceof AggregateError ? error.errors : [];
  return [
    ...(apiId === undefined ? [] : [apiId]),
    ...inner.flatMap((each) => kafkaErrorIds(each, depth + 1)),
    ...kafkaErrorIds(error.cause, depth + 1),
  ];
}
