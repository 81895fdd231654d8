import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import amqp from "amqplib";
import { freePort } from "../../../src/agent/testing/free-port.js";
import { canConnect, installedProgram, ServerProcess, serverFolder } from "./server-process.js";

const BIN = "/usr/lib/rabbitmq/bin";
export const rabbitmqProgram = installedProgram("rabbitmq", [`${BIN}/rabbitmq-server`]);

/** A RabbitMQ of its own, with nothing in it. */
export interface RabbitMq {
  readonly url: string;
  readonly port: number;
  readonly server: ServerProcess;
  /** Runs `rabbitmqctl`, as an operator does. */
  control(...args: string[]): Promise<void>;
  close(): Promise<void>;
}

/** About six seconds: one for all tests of a file. */
export async function startRabbitMq(settings: Readonly<Record<string, string>> = {}): Promise<RabbitMq> {
  const folder = serverFolder("rabbitmq");
  const [port, distPort, epmdPort] = [await freePort(), await freePort(), await freePort()];
  const file = (name: string) => join(folder.path, name);
  writeFileSync(file("plugins"), "[].");
  writeFileSync(
    file("rabbitmq.conf"),
    Object.entries({
      "listeners.tcp.default": `127.0.0.1:${port}`,
      "log.console": "true",
      "log.console.level": "error",
      "log.file": "false",
      ...settings,
    })
      .map(([key, value]) => `${key} = ${value}\n`)
      .join(""),
  );
  // Erlang's name server: RabbitMQ would start one for the whole machine and leave it there.
  const names = new ServerProcess({
    program: "/usr/bin/epmd",
    args: ["-port", String(epmdPort), "-address", "127.0.0.1"],
    folder: folder.path,
    isReady: () => canConnect(epmdPort),
  });
  const node = `sluice${port}@localhost`;
  const server = new ServerProcess({
    program: rabbitmqProgram!,
    args: [],
    folder: folder.path,
    env: {
      HOME: folder.path,
      ERL_EPMD_PORT: String(epmdPort),
      RABBITMQ_NODENAME: node,
      RABBITMQ_NODE_PORT: String(port),
      RABBITMQ_DIST_PORT: String(distPort),
      RABBITMQ_CONFIG_FILE: file("rabbitmq.conf"),
      RABBITMQ_MNESIA_BASE: file("data"),
      RABBITMQ_LOG_BASE: file("log"),
      RABBITMQ_ENABLED_PLUGINS_FILE: file("plugins"),
      RABBITMQ_PID_FILE: file("pid"),
      // One scheduler and no busy waiting: other tests run beside it.
      RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: "+S 1:1 +sbwt none +sbwtdcpu none +sbwtdio none",
    },
    isReady: async () => {
      const connection = await amqp.connect(url);
      await connection.close();
    },
  });
  const url = `amqp://guest:guest@127.0.0.1:${port}`;
  await names.start();
  await server.start();
  return {
    url,
    port,
    server,
    async control(...args) {
      const env = { ...process.env, HOME: folder.path, ERL_EPMD_PORT: String(epmdPort) };
      await promisify(execFile)(`${BIN}/rabbitmqctl`, ["-n", node, ...args], { cwd: folder.path, env });
    },
    async close() {
      await server.kill();
      await names.kill();
      folder.remove();
    },
  };
}
