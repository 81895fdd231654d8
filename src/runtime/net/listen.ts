import type { AddressInfo, Server } from "node:net";
import type { Logger } from "#contract";
import { StartError } from "#contract/errors";
import { formatAddress, type HostPort, type ListenAddress } from "./endpoint.js";

/**
 * Resolves with the port once the server listens (0 for a Unix socket). Rejects with a `StartError` that names the
 * address and says what to do; `path` is the path of the endpoint in the config.
 */
export function listen(server: Server, address: ListenAddress, path: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException) => {
      reject(new StartError(explainListenError(error, formatAddress(address)), path, { cause: error }));
    };
    server.once("error", failed);
    server.listen("path" in address ? { path: address.path } : listenOptions(address), () => {
      server.off("error", failed);
      const bound = server.address() as AddressInfo | string | null;
      resolve(typeof bound === "object" && bound !== null ? bound.port : 0);
    });
  });
}

/** True when `listen` failed because the port is in use. */
export function isPortInUse(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return (cause as NodeJS.ErrnoException | undefined)?.code === "EADDRINUSE";
}

/**
 * Starts a server at a default address. If the port is taken, logs it and returns undefined: the agent runs without the
 * server.
 */
export async function startUnlessPortTaken<Server>(
  start: () => Promise<Server>,
  what: string,
  logger: Logger,
): Promise<Server | undefined> {
  try {
    return await start();
  } catch (error) {
    if (!isPortInUse(error)) throw error;
    logger.warn({}, `${(error as Error).message}; the agent runs without its ${what}`);
    return undefined;
  }
}

/** Without a host Node.js listens on IPv6 and IPv4, or on IPv4 where there is no IPv6. */
function listenOptions({ host, port, isIPv4Only }: HostPort) {
  return host === undefined || (host === "0.0.0.0" && !isIPv4Only) ? { port } : { host, port };
}

function explainListenError(error: NodeJS.ErrnoException, address: string): string {
  switch (error.code) {
    case "EADDRINUSE":
      return `cannot listen on ${address}: it is in use by another program; stop that one or choose another port`;
    case "EACCES":
      return `cannot listen on ${address}: not permitted; ports below 1024 need privileges, choose a higher one`;
    case "EADDRNOTAVAIL":
      return `cannot listen on ${address}: this machine has no such address; use 0.0.0.0 for every interface`;
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `cannot listen on ${address}: the host name is not known here; use 0.0.0.0 for every interface, or 127.0.0.1 for this machine alone`;
    default:
      return `cannot listen on ${address}: ${error.message}`;
  }
}
