import type { Server } from "node:net";
import type { Clock } from "#contract";
import { pause } from "#resilience";

/** A client that sends requests one after the other has sent its next one within this time. */
const QUIET_MS = 500;
const MAX_WAIT_MS = 3000;
const CHECK_MS = 20;

/**
 * Resolves when a server that takes no more connections has none left, or has had no request for a while, but at the
 * latest after three seconds. What has arrived by then has been read, so that closing an idle connection resets no
 * request.
 */
export async function clientsQuiet(server: Server, clock: Clock): Promise<void> {
  const since = clock.monotonic();
  let lastRequest = since;
  const onRequest = () => {
    lastRequest = clock.monotonic();
  };
  for (const event of REQUEST_EVENTS) server.on(event, onRequest);
  const isOver = () => {
    const now = clock.monotonic();
    return now - lastRequest >= QUIET_MS || now - since >= MAX_WAIT_MS;
  };
  while (!isOver() && (await connectionsOf(server)) > 0) await pause(CHECK_MS, clock);
  for (const event of REQUEST_EVENTS) server.off(event, onRequest);
  await new Promise((resolve) => setImmediate(resolve)); // after the event loop has read all sockets
}

const REQUEST_EVENTS = ["request", "checkContinue"] as const;

function connectionsOf(server: Server): Promise<number> {
  return new Promise((resolve) => server.getConnections((error, count) => resolve(error ? 0 : count)));
}
