import { once } from "node:events";
import net from "node:net";
import { setTimeout as delay } from "node:timers/promises";

/** @type {Set<number>} */
const given = new Set();

/** A free port. Never the same twice. */
export async function freePort() {
  for (;;) {
    const server = net.createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = /** @type {net.AddressInfo} */ (server.address());
    server.close();
    await once(server, "close");
    if (given.has(port)) continue;
    given.add(port);
    return port;
  }
}

/** Whether something listens on the port. @param {number} port @returns {Promise<boolean>} */
export function isOpen(port) {
  return new Promise((resolve) => {
    const socket = net.connect(port, "127.0.0.1");
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}

/**
 * Resolves with true once the port is open, or with false when `alive` returns false before that.
 * @param {number} port @param {() => boolean} alive
 */
export async function waitOpen(port, alive, everyMs = 10) {
  while (alive()) {
    if (await isOpen(port)) return true;
    await delay(everyMs);
  }
  return false;
}
