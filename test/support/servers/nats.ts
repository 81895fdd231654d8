import { connect, type NodeConnectionOptions } from "@nats-io/transport-node";
import { freePort } from "../../../src/agent/testing/free-port.js";
import { installedProgram, ServerProcess, serverFolder } from "./server-process.js";

export const natsProgram = installedProgram("nats", ["/usr/sbin/nats-server", "/usr/bin/nats-server"]);

/** A NATS server of its own, with JetStream unless told, and nothing in it. */
export interface Nats {
  readonly url: string;
  readonly server: ServerProcess;
  close(): Promise<void>;
}

/** `probe` is what a client needs to be let in, where that is not what tests usually have. */
export async function startNats(args?: readonly string[], probe: NodeConnectionOptions = {}): Promise<Nats> {
  const folder = serverFolder("nats");
  const port = await freePort();
  const url = `nats://127.0.0.1:${port}`;
  const jetStream = args ?? ["-js", "-sd", folder.path];
  const server = new ServerProcess({
    program: natsProgram!,
    args: ["-a", "127.0.0.1", "-p", String(port), ...jetStream],
    folder: folder.path,
    isReady: async () =>
      (await connect({ servers: url, reconnect: false, timeout: 1000, ...CREDENTIALS, ...probe })).close(),
  });
  await server.start();
  return {
    url,
    server,
    async close() {
      await server.kill();
      folder.remove();
    },
  };
}

/** A server that wants none does not look at them. */
const CREDENTIALS = { user: "agent", pass: "secret" };
