import type { Server } from "node:net";

/** An event of a server, and what a component does about it. */
export type ServerListener = readonly [event: string, listener: (...details: never[]) => void];

/** A listening server in the hands of a component. */
interface ServerLease {
  readonly server: Server;
  /**
   * False once another component has taken the server over, and while the reload in which this component took it over
   * may still fail. The component must not close the server then.
   */
  readonly isCurrent: boolean;
}

/**
 * The listening servers of an agent. A component that replaces another one at the same address takes over its server,
 * with all open connections, so no client notices.
 */
export interface ListenSockets {
  /**
   * Returns the server of this kind that the replaced component uses at this address, with these listeners instead of
   * its own; undefined if there is none.
   */
  take(
    address: string,
    kind: string,
    listeners: (server: Server) => readonly ServerListener[],
  ): ServerLease | undefined;
  /**
   * Lets this server listen with the socket of the server of another kind that the replaced component uses at this
   * address, which keeps its open connections. Resolves to undefined if there is none.
   */
  takeSocket(
    address: string,
    kind: string,
    server: Server,
    listeners: (server: Server) => readonly ServerListener[],
  ): Promise<ServerLease | undefined>;
  /** Adds the listeners to a server that listens at this address. */
  add(
    address: string,
    kind: string,
    server: Server,
    listeners: (server: Server) => readonly ServerListener[],
  ): ServerLease;
}
