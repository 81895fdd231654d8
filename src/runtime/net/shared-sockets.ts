import type { Server } from "node:net";
import type { ListenSockets, ServerListener } from "#contract";

type ListenersOf = (server: Server) => readonly ServerListener[];

/** One component's use of a server. */
class SocketLease implements ReturnType<ListenSockets["add"]> {
  readonly server: Server;
  /** True while the reload in which the server was taken over may still fail. */
  isProvisional = false;
  private isAttached = false;
  private readonly listeners: readonly ServerListener[];

  constructor(server: Server, listeners: readonly ServerListener[]) {
    this.server = server;
    this.listeners = listeners;
  }

  get isCurrent(): boolean {
    return this.isAttached && !this.isProvisional;
  }

  attach(): void {
    this.isAttached = true;
    for (const [event, listener] of this.listeners) this.server.on(event, listener as () => void);
  }

  detach(): void {
    this.isAttached = false;
    for (const [event, listener] of this.listeners) this.server.off(event, listener as () => void);
  }
}

interface HeldServer {
  readonly kind: string;
  lease: SocketLease;
}

/**
 * The listening servers of an agent, by address. While the agent is being reloaded, components that start may take over
 * the server of another component. A reload that fails gives all servers back.
 */
export class SharedSockets implements ListenSockets {
  private readonly held = new Map<string, HeldServer>();
  /** The former users of the servers that were taken in the reload under way; undefined without one. */
  private taken: Map<HeldServer, SocketLease> | undefined;

  take(address: string, kind: string, listeners: ListenersOf): SocketLease | undefined {
    const found = this.held.get(address);
    if (this.taken === undefined || found?.kind !== kind || this.taken.has(found)) return undefined;
    const lease = new SocketLease(found.lease.server, listeners(found.lease.server));
    this.taken.set(found, found.lease);
    found.lease.detach();
    lease.attach();
    lease.isProvisional = true;
    found.lease = lease;
    return lease;
  }

  add(address: string, kind: string, server: Server, listeners: ListenersOf): SocketLease {
    const lease = new SocketLease(server, listeners(server));
    lease.attach();
    const held = { kind, lease };
    this.held.set(address, held);
    server.once("close", () => {
      if (this.held.get(address) === held) this.held.delete(address);
    });
    return lease;
  }

  /** From now on servers may be taken over, until `endReload` or `giveBack`. */
  beginReload(): void {
    this.taken = new Map();
  }

  endReload(): void {
    for (const { lease } of this.taken?.keys() ?? []) lease.isProvisional = false;
    this.taken = undefined;
  }

  /** Gives the servers that were taken over in this reload back to their former users. */
  giveBack(): void {
    for (const [held, former] of this.taken ?? []) {
      held.lease.detach();
      former.attach();
      held.lease = former;
    }
    this.taken = undefined;
  }
}
