import { once } from "node:events";
import { connect } from "node:net";
import { freePort } from "../../../src/agent/testing/free-port.js";
import { installedProgram, ServerProcess, serverFolder } from "./server-process.js";

export const redisProgram = installedProgram("redis", ["/usr/bin/redis-server"]);

/** A Redis of its own, that writes every command to its disk before it answers. */
export interface RedisServer {
  readonly endpoint: string;
  readonly port: number;
  readonly server: ServerProcess;
  close(): Promise<void>;
}

export async function startRedis(args: readonly string[] = []): Promise<RedisServer> {
  const folder = serverFolder("redis");
  const port = await freePort();
  const server = new ServerProcess({
    program: redisProgram!,
    args: [
      "--port",
      String(port),
      "--bind",
      "127.0.0.1",
      "--dir",
      folder.path,
      "--save",
      "",
      "--appendonly",
      "yes",
      ...DURABLE,
      ...args,
    ],
    folder: folder.path,
    isReady: () => ping(port),
  });
  await server.start();
  return {
    endpoint: `127.0.0.1:${port}`,
    port,
    server,
    async close() {
      await server.kill();
      folder.remove();
    },
  };
}

const DURABLE = ["--appendfsync", "always"];

/** Rejects unless it answers to commands; that it wants a password is an answer too. */
async function ping(port: number): Promise<void> {
  const socket = connect(port, "127.0.0.1");
  try {
    socket.write("PING\r\n");
    const [answer] = (await once(socket, "data")) as [Buffer];
    if (!/PONG|NOAUTH/.test(answer.toString())) throw new Error(answer.toString());
  } finally {
    socket.destroy();
  }
}
