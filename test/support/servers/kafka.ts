import { execFile } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "vitest";
import { freePort } from "../../../src/agent/testing/free-port.js";
import type { KafkaConnectionOptions } from "../../../src/runtime/brokers/kafka/client.js";
import { hasKafkaClient, kafkaTestClient } from "./kafka-client.js";
import { ServerProcess, serverFolder } from "./server-process.js";

const JAVA = "/usr/bin/java";
/** Where `scripts/kafka-jars.sh` puts Kafka. */
const jars = process.env.SLUICE_KAFKA_JARS ?? join(homedir(), ".cache/sluice-test/kafka-3.9.1");

const hasBroker = existsSync(join(jars, "kafka_2.13-3.9.1.jar")) && existsSync(JAVA);

export const hasKafka = hasBroker && hasKafkaClient;
if (!hasBroker)
  console.warn("The tests of kafka are skipped: it is fetched by scripts/kafka-jars.sh and needs Java 17.");
else if (!hasKafka)
  console.warn("The tests of kafka are skipped: its client library is installed by scripts/kafka-client.sh.");

/** One broker of its own, with nothing in it. */
export interface Kafka {
  readonly broker: string;
  /** The same, for users with a password. */
  readonly saslBroker: string;
  readonly server: ServerProcess;
  /** The settings for a client of it. */
  readonly connection: KafkaConnectionOptions;
  /** Runs one of Kafka's own programs, as an operator does. */
  run(program: string, ...args: string[]): Promise<void>;
  createTopic(name: string, partitions?: number): Promise<string>;
  close(): Promise<void>;
}

/** Small and quick to start: other tests run beside it. */
const JVM = ["-Xmx256m", "-Xms64m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-cp", `${jars}/*`];

/** About five seconds: one for all tests of a file. `more_listeners` are added to those there are; users are as `--add-scram` has them. */
export async function startKafka(
  settings: Readonly<Record<string, string | number>> = {},
  scramUsers: readonly string[] = [],
): Promise<Kafka> {
  const folder = serverFolder("kafka");
  const [port, saslPort, controllerPort] = [await freePort(), await freePort(), await freePort()];
  const listeners = { port, saslPort, controllerPort };
  const file = join(folder.path, "server.properties");
  writeFileSync(file, propertiesOf(folder.path, listeners, settings));
  const format = [...JVM, "kafka.tools.StorageTool", "format", "-t", "c2x1aWNlLXRlc3RzLWthZg", "-c", file];
  const scrams = scramUsers.flatMap((user) => ["--add-scram", user]);
  await promisify(execFile)(JAVA, [...format, ...scrams], { cwd: folder.path });
  const broker = `127.0.0.1:${port}`;
  const { Admin } = await kafkaTestClient();
  const connection: KafkaConnectionOptions = {
    clientId: "test",
    bootstrapBrokers: [broker],
    retries: 20,
    retryDelay: 100,
  };
  const admin = new Admin({ ...connection, retries: 3 });
  const server = new ServerProcess({
    program: JAVA,
    args: [...JVM, "kafka.Kafka", file],
    folder: folder.path,
    isReady: async () => {
      const probe = new Admin({ ...connection, retries: 0 });
      await probe.metadata({ topics: [] }).finally(() => probe.close());
    },
  });
  await server.start();
  return {
    broker,
    saslBroker: `127.0.0.1:${saslPort}`,
    server,
    connection,
    async run(program, ...args) {
      await promisify(execFile)(JAVA, [...JVM, program, "--bootstrap-server", broker, ...args], { cwd: folder.path });
    },
    async createTopic(name, partitions = 1) {
      await admin.createTopics({ topics: [name], partitions, replicas: 1 });
      // The leaders of its partitions know that they are a moment later than the controller that answered.
      const wanted = Array.from({ length: partitions }, (_, partitionIndex) => ({ partitionIndex, timestamp: -1n }));
      const ask = () => admin.listOffsets({ topics: [{ name, partitions: wanted }] });
      await expect.poll(() => ask().then(([topic]) => topic?.partitions.length, String)).toBe(partitions);
      return name;
    },
    async close() {
      await admin.close();
      await server.kill();
      folder.remove();
    },
  };
}

function propertiesOf(
  folder: string,
  {
    port,
    saslPort,
    controllerPort,
  }: { readonly port: number; readonly saslPort: number; readonly controllerPort: number },
  { more_listeners = "", ...settings }: Readonly<Record<string, string | number>>,
): string {
  const others = more_listeners === "" ? "" : `,${more_listeners}`;
  const properties = {
    "process.roles": "broker,controller",
    "node.id": 1,
    "controller.quorum.voters": `1@127.0.0.1:${controllerPort}`,
    listeners: `PLAINTEXT://127.0.0.1:${port},SASL_PLAINTEXT://127.0.0.1:${saslPort},CONTROLLER://127.0.0.1:${controllerPort}${others}`,
    "advertised.listeners": `PLAINTEXT://127.0.0.1:${port},SASL_PLAINTEXT://127.0.0.1:${saslPort}${others}`,
    // One user, ann, whose password is "secret".
    "listener.name.sasl_plaintext.sasl.enabled.mechanisms": "PLAIN",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config":
      'org.apache.kafka.common.security.plain.PlainLoginModule required user_ann="secret";',
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT",
    "log.dirs": join(folder, "data"),
    "offsets.topic.replication.factor": 1,
    "offsets.topic.num.partitions": 1,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.num.partitions": 1,
    "transaction.state.log.min.isr": 1,
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": 500,
    "auto.create.topics.enable": false,
    ...settings,
  };
  return Object.entries(properties)
    .map(([key, value]) => `${key}=${value}\n`)
    .join("");
}
