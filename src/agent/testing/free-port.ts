import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Operating systems use ports above these for outgoing connections. A server that restarts at such a port would
 * sometimes find it taken by a client's connection, even by a client that tries to reach this server.
 */
const LOWEST_PORT = 10_000;
const HIGHEST_PORT = 32_767;
const WELL_KNOWN_PORTS = [13_133, 14_250, 14_268];

/** Processes that take ports at the same time mostly have numbers in a row, and each takes every sixteenth port. */
const STEP = 16;

const given = new Set<number>();

/** A free port of 127.0.0.1 for servers that may restart at it. Never returns the same port twice. */
export async function freePort(): Promise<number> {
  for (;;) {
    const steps = Math.floor((Math.random() * (HIGHEST_PORT - LOWEST_PORT + 1)) / STEP);
    const port = LOWEST_PORT + steps * STEP + (process.pid % STEP);
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
