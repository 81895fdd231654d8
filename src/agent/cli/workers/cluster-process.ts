import type { Worker } from "node:cluster";
import type { Clock } from "#contract";
import { type LinkEnd, type LinkMessage, WorkerGoneError } from "#workers";
import { LISTENING } from "./assignment.js";

/*
 * A process of Node's cluster module, and what we do where that module is not enough: it does not always say that a
 * process is gone, and it keeps or passes on connections that no worker will take.
 */

/** Time to read what a worker has sent before it ended. */
const READ_AFTER_EXIT_MS = 250;

/**
 * Resolves when the worker has ended and what it said has been read. Node.js does not always tell that the channel of a
 * process is closed: not if a connection was on its way to it.
 */
export function goneOf(child: Worker, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    child.once("disconnect", resolve);
    child.once("exit", () => void clock.after(READ_AFTER_EXIT_MS, resolve));
  });
}

/** Resolves with how the process ended. */
export function exitOf(child: Worker): Promise<string> {
  return new Promise((resolve) => {
    child.once("exit", (code, signal) => resolve(signal ?? `code ${code}`));
  });
}

/** The parent's end of the link to the worker. */
export function endOf(child: Worker, gone: Promise<void>): LinkEnd {
  return {
    send(message) {
      if (child.isConnected()) child.send(message, () => {});
    },
    onMessage: (listener) =>
      void child.on("message", (message: LinkMessage | typeof LISTENING) => {
        if (message !== LISTENING) listener(message);
      }),
    onGone: (listener) => void gone.then(listener),
  };
}

interface ClusterMessage {
  readonly cmd?: string;
  readonly act?: string;
  readonly seq?: number;
  readonly ack?: number;
  accepted?: boolean;
}

/**
 * Closes the connections that were sent to a worker and not taken by it, when it has ended. Node's cluster module would
 * keep them open for ever, with a client that waits. They are not given to another worker, because it is unknown
 * whether this one has read from them.
 */
export function closeUntakenConnections({ process: child }: Worker, gone: Promise<void>): void {
  const untaken = new Set<number>();
  const send = child.send.bind(child) as (message: ClusterMessage, ...rest: readonly unknown[]) => boolean;
  child.send = (message: ClusterMessage, ...rest: readonly unknown[]) => {
    if (message.act === "newconn" && message.seq !== undefined) untaken.add(message.seq);
    return send(message, ...rest);
  };
  child.on("internalMessage", ({ ack }: ClusterMessage) => {
    if (ack !== undefined) untaken.delete(ack);
  });
  void gone.then(() => {
    // As if the worker had taken them: then the cluster module closes them in this process.
    for (const ack of untaken) child.emit("internalMessage", { cmd: "NODE_CLUSTER", ack, accepted: true });
  });
}

/**
 * Closes connections that a worker does not take because it has reached `max_connections`. Node's cluster module would
 * give them to the next worker, and so on without end while all are full. A worker that stops takes none either: those
 * are for the others.
 */
export function closeConnectionsBeyondLimits({ process: child }: Worker, isReady: () => boolean): void {
  child.prependListener("internalMessage", (message: ClusterMessage) => {
    if (message.ack !== undefined && message.accepted === false && isReady()) message.accepted = true;
  });
}

/** Resolves when the worker can receive messages. */
export function listening(child: Worker, number: number): Promise<void> {
  return new Promise((resolve, reject) => {
    child.on("message", (message: unknown) => {
      if (message === LISTENING) resolve();
    });
    child.once("exit", () => reject(new WorkerGoneError(number)));
  });
}
