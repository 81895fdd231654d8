import { readFileSync } from "node:fs";
import type { Server, Socket } from "node:net";
import type { ServerListener } from "#contract";
import { clientOf } from "./client-address.js";

/** Why a connection was closed right after it was opened. */
export type ConnectionRefusal = "max_connections" | "max_connections_per_client" | "open_files";

export interface ConnectionLimits {
  readonly maxConnections: number;
  readonly maxConnectionsPerClient: number;
  readonly onRefused: (reason: ConnectionRefusal) => void;
}

/**
 * Limits the connections of a server: its own total, those per address, and, together with all other limited servers,
 * the total of the process, so that files can still be opened. Small servers without limits, such as the health check,
 * have a reserve. Returns the listeners that enforce the limits.
 */
export function connectionLimits(server: Server, limits: ConnectionLimits): readonly ServerListener[] {
  const clients = new Map<string, number>();
  servers.set(server, limits.maxConnections);
  setMaxConnections(server, limits.maxConnections);
  const onConnection = (socket: Socket) => {
    countOpen(1);
    // Read it now, because a closed socket no longer has it.
    const client = clientOf(socket.remoteAddress) ?? "";
    const count = (clients.get(client) ?? 0) + 1;
    clients.set(client, count);
    socket.once("close", () => {
      countOpen(-1);
      const left = (clients.get(client) ?? 1) - 1;
      if (left === 0) clients.delete(client);
      else clients.set(client, left);
    });
    if (client === "" || count <= limits.maxConnectionsPerClient) return;
    limits.onRefused("max_connections_per_client");
    socket.destroy();
  };
  return [
    ["connection", onConnection],
    ["drop", () => limits.onRefused(isFull() ? "open_files" : "max_connections")],
    ["close", () => void servers.delete(server)],
  ];
}

/** The limited servers with their own limits, and their total number of connections. */
const servers = new Map<Server, number>();
let open = 0;
let maxOpen: number | undefined;

function isFull(): boolean {
  maxOpen ??= connectionsWithin(openFilesLimit());
  return open >= maxOpen;
}

function countOpen(change: 1 | -1): void {
  const wasFull = isFull();
  open += change;
  if (wasFull === isFull()) return;
  for (const [server, max] of servers) setMaxConnections(server, max);
}

/** Node.js closes connections beyond the limit. It treats 0 as no limit, so a full server gets 1. */
function setMaxConnections(server: Server, max: number): void {
  server.maxConnections = isFull() ? 1 : max;
}

/**
 * A quarter of the files is reserved for files, stores, exporters and small servers, and at least what these need at
 * rest.
 */
function connectionsWithin(files: number): number {
  return Math.max(16, files - Math.max(96, Math.ceil(files / 4)));
}

/** The number of files that the process may open; infinite if the system does not tell. */
function openFilesLimit(): number {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
