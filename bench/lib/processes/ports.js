import { once } from "node:events";
import net from "node:net";
import { setTimeout as delay } from "node:timers/promises";

/** @type {Set<number>} */
const given = new Set();

/** A port nobody listens on now. Never the same twice. */
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

/** Whether somebody listens. @param {number} port @returns {Promise<boolean>} */
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

/** Resolves true once the port is open, false if `alive` says so first. @param {number} port @param {() => boolean} alive */
export async function waitOpen(port, alive, everyMs = 10) {
  while (alive()) {
    if (await isOpen(port)) return true;
    await delay(everyMs);
  }
  return false;
}
