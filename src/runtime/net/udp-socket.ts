import { createSocket, type RemoteInfo, type Socket } from "node:dgram";
import type { Server } from "node:net";
import type { ListenSockets, ServerListener } from "#contract";
import { StartError } from "#contract/errors";
import { formatAddress, type HostPort } from "./endpoint.js";
import { SharedSockets } from "./shared-sockets.js";

interface UdpSettings {
  readonly address: HostPort;
  /** The path of the endpoint in the config. */
  readonly configPath: readonly string[];
  readonly sockets: ListenSockets | undefined;
  readonly onMessage: (packet: Buffer, peer: RemoteInfo) => void;
  readonly onError: (error: Error) => void;
}

/** A UDP socket in the hands of a component. */
export interface LeasedUdpSocket {
  readonly socket: Socket;
  /** Does nothing to a socket that another component has taken over. */
  close(): Promise<void>;
}

/**
 * Takes over the socket of the component that is being replaced at this address, with the packets that wait in it, or
 * binds one. Rejects with a `StartError` if it cannot listen.
 */
export async function leaseUdpSocket(settings: UdpSettings): Promise<LeasedUdpSocket> {
  const { address, configPath, sockets = new SharedSockets(), onMessage, onError } = settings;
  const kind = address.host?.includes(":") ? "udp6" : "udp4";
  const key = `udp ${formatAddress(address)}`;
  const listeners = (): readonly ServerListener[] => [
    ["message", onMessage as ServerListener[1]],
    ["error", onError as ServerListener[1]],
  ];
  const bound = async () => asServer(await bind(createSocket(kind), address, configPath));
  const lease = sockets.take(key, kind, listeners) ?? sockets.add(key, kind, await bound(), listeners);
  const socket = lease.server as unknown as Socket;
  return {
    socket,
    async close() {
      if (lease.isCurrent) await new Promise<void>((resolve) => socket.close(() => resolve()));
    },
  };
}

/** A UDP socket has the events and the end by which shared servers are handled. */
function asServer(socket: Socket): Server {
  return socket as unknown as Server;
}

function bind(socket: Socket, { host, port }: HostPort, path: readonly string[]): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const failed = (error: Error) => {
      const message = `cannot listen on ${formatAddress({ host, port })} (UDP): ${error.message}`;
      reject(new StartError(message, path, { cause: error }));
    };
    socket.once("error", failed);
    socket.bind({ port, ...(host !== undefined && { address: host }) }, () => {
      socket.off("error", failed);
      resolve(socket);
    });
  });
}
