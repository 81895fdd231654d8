import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Operating systems give outgoing connections ports above these. A server that ends and comes back at one of its own would
 * find it taken now and then, by some client's connection or by one that tries to reach this very server.
 */
const LOWEST_PORT = 10_000;
const HIGHEST_PORT = 32_767;
const WELL_KNOWN_PORTS = [13_133, 14_250, 14_268];

const given = new Set<number>();

/** A port of 127.0.0.1 that nobody has now, for servers that may end and come back at it. Never the same twice. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = LOWEST_PORT + Math.floor(Math.random() * (HIGHEST_PORT - LOWEST_PORT + 1));
    if (given.has(port) || WELL_KNOWN_PORTS.includes(port) || !(await isFree(port))) continue;
    given.add(port);
    return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    return true;
  } catch {
    return false;
  } finally {
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  }
}
