import type { Cluster } from "node:cluster";
import { lstat, rm } from "node:fs/promises";
import { type AddressInfo, connect, type Server } from "node:net";
import type { ListenSockets, Logger, ServerListener } from "#contract";
import { StartError } from "#contract/errors";
import { formatAddress, type HostPort, type ListenAddress } from "./endpoint.js";
import { SharedSockets } from "./shared-sockets.js";

/**
 * The event with which a component that stops gives an open connection to the one that has taken over its server. The
 * listener gets the socket, and what the component knows about it.
 */
export const HANDED_OVER = "handedOver";

interface LeaseSettings {
  readonly address: ListenAddress;
  /** The path of the endpoint in the config. */
  readonly configPath: readonly string[];
  /** Only servers of the same kind can take each other's place, such as http, or https with the same settings. */
  readonly kind: string;
  readonly sockets: ListenSockets | undefined;
  readonly create: () => Server;
  readonly listeners: (server: Server) => readonly ServerListener[];
  /** Brings a server that was taken over up to date. */
  readonly update?: (server: Server) => void;
}

/** A listening server in the hands of a component; see `ListenSockets`. */
export type LeasedServer = ReturnType<ListenSockets["add"]>;

/**
 * Takes over the server of the component that is being replaced at this address, with its connections, or starts one.
 * Rejects like `listen`.
 */
export async function leaseServer(settings: LeaseSettings): Promise<LeasedServer> {
  const { address, configPath, kind, sockets, listeners, create, update } = settings;
  const key = formatAddress(address);
  const taken = sockets?.take(key, kind, listeners);
  if (taken !== undefined) {
    update?.(taken.server);
    return taken;
  }
  const server = create();
  const moved = await sockets?.takeSocket(key, kind, server, listeners).catch((error: Error) => {
    throw new StartError(error.message, configPath, { cause: error });
  });
  if (moved !== undefined) return moved;
  await listen(server, address, configPath);
  return (sockets ?? new SharedSockets()).add(key, kind, server, listeners);
}

/** The port that a server listens at; 0 for a Unix socket. */
export function portOf(server: Server): number {
  const bound = server.address() as AddressInfo | string | null;
  return typeof bound === "object" && bound !== null ? bound.port : 0;
}

/**
 * Resolves with the port once the server listens (0 for a Unix socket). Rejects with a `StartError` that names the
 * address and says what to do; `path` is the path of the endpoint in the config. A Unix socket that a killed process has
 * left is removed, except in a worker, because the others may listen there: its parent does this before they start.
 */
export async function listen(server: Server, address: ListenAddress, path: readonly string[]): Promise<number> {
  if ("path" in address && !isWorker()) await removeStaleSocket(address.path);
  return new Promise((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException) => {
      reject(new StartError(explainListenError(error, formatAddress(address)), path, { cause: error }));
    };
    server.once("error", failed);
    server.listen("path" in address ? { path: address.path } : listenOptions(address), () => {
      server.off("error", failed);
      resolve(portOf(server));
    });
  });
}

function isWorker(): boolean {
  return (process.getBuiltinModule("node:cluster") as unknown as Cluster).isWorker;
}

/** Removes a Unix socket that has no listener. Leaves files of other kinds. */
export async function removeStaleSocket(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (found?.isSocket() === true && !(await isAnswered(path))) await rm(path, { force: true });
}

function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", ({ code }: NodeJS.ErrnoException) => resolve(code !== "ECONNREFUSED"));
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
      return `cannot listen on ${address}: the host name cannot be resolved; use 0.0.0.0 for every interface, or 127.0.0.1 for this machine only`;
    default:
      return `cannot listen on ${address}: ${error.message}`;
  }
}
