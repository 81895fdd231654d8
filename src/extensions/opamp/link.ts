import { isStartError } from "#contract/errors";
import { isLocalHost } from "#net/auth";
import { type ExtensionContext, StartError } from "../../plugin.js";

/** How messages reach the server: over a WebSocket, or by HTTP requests. */
export interface ServerLink {
  /** Reads certificates and finds the authenticator. Throws a `StartError`. */
  start(): Promise<void>;
  /** Rejects with a `Refusal` if there is no connection. */
  connect(handlers: LinkHandlers, abort: AbortSignal): Promise<LinkConnection>;
  stop(): void;
}

export interface LinkHandlers {
  onMessage(message: Buffer): void;
  /** Called once, unless the connection was closed from this side. */
  onEnd(reason: string, retryAfterMs?: number): void;
}

export interface LinkConnection {
  /** True while nothing more can be sent. */
  readonly isBusy: boolean;
  send(message: Buffer): void;
  /** Sends the last message and resolves when the connection is over. Takes about a second at most. */
  close(last: Buffer): Promise<void>;
  /** Ends the connection at once. */
  destroy(reason: string): void;
}

/** Puts the place of the link's keys before the path of a `StartError`. */
export async function startedAt<T>(place: readonly string[], start: () => Promise<T>): Promise<T> {
  try {
    return await start();
  } catch (error) {
    throw isStartError(error)
      ? new StartError(error.message, [...place, ...error.path], { cause: error.cause })
      : error;
  }
}

/** An attacker who can change the data of an open connection can read the agent's config, and one day change it. */
export function warnIfOpen(url: URL, { logger }: ExtensionContext): void {
  if (url.protocol === "https:" || isLocalHost(url.hostname)) return;
  logger.warn(
    { server: url.host },
    "the connection to the OpAMP server has no TLS: anyone on the network can read and change the data",
  );
}
