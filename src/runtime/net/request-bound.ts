import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { ServerListener } from "#contract";

/**
 * Bounds how long the HTTP servers of this process take requests in one turn of the event loop. Clients need not wait for
 * answers, and what has arrived is read 64 KiB at a time from each of them: small requests of fifty such clients held the
 * event loop for 150 ms. Ordinary traffic pays for nothing but the counting.
 *
 * After `MAX_MS`,
 * - nothing more is read from any connection until these requests have been taken and a new turn begins, and
 * - requests that have been read already wait. Node.js goes on with what it has read from a connection, and reads on
 *   once somebody reads a request's body.
 * Then connections go first whose requests did not get a turn.
 */

/** Longer than ordinary turns. What has been read from a connection may be taken after it, and what is taken is processed. */
const MAX_MS = 40;
/** The time is looked at after so many requests in a turn. So many that wait are taken in a turn. */
const CHECKED_REQUESTS = 64;

/** The requests of this turn, and at how many of them `isTurnOver` is asked. */
export const requestTurn = { requests: 0, checkAt: CHECKED_REQUESTS };

const sockets = new Set<Socket>();
const paused = new Set<Socket>();
const waiting: (() => void)[] = [];
/** When the first requests of this turn had been counted. */
let startedAt = 0;
let isOver = false;

/** Remembers a connection, to pause it. */
export const rememberConnection: ServerListener[1] = (socket: Socket) => {
  sockets.add(socket);
  socket.once("close", () => {
    sockets.delete(socket);
    paused.delete(socket);
  });
};

/** Whether a request has to wait for a later turn. */
export function isTurnOver(): boolean {
  if (isOver) return true;
  requestTurn.checkAt = requestTurn.requests + CHECKED_REQUESTS;
  if (requestTurn.requests === CHECKED_REQUESTS) {
    startedAt = performance.now();
    setImmediate(endTurn);
  } else if (performance.now() - startedAt > MAX_MS) {
    isOver = true;
    requestTurn.checkAt = 0;
    for (const socket of sockets) pause(socket);
  }
  return isOver;
}

/** Gives a request to its listener when its turn comes, unless the client has gone by then. */
export function takeLater(listener: RequestListener, request: IncomingMessage, response: ServerResponse): void {
  pause(request.socket);
  waiting.push(() => {
    if (!request.destroyed) listener(request, response as Parameters<RequestListener>[1]);
  });
}

/** A socket that does not flow is paused by somebody else, or has been upgraded to another protocol. */
function pause(socket: Socket): void {
  if (socket.readableFlowing !== true) return;
  socket.pause();
  // Behind those that were not served: sockets are read in the order in which they are resumed.
  paused.delete(socket);
  paused.add(socket);
}

function endTurn(): void {
  for (const take of waiting.splice(0, CHECKED_REQUESTS)) take();
  if (waiting.length > 0) return void setImmediate(endTurn);
  requestTurn.requests = 0;
  requestTurn.checkAt = CHECKED_REQUESTS;
  isOver = false;
  for (const socket of paused) socket.resume();
  paused.clear();
}
