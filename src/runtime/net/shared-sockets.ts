import type { Server } from "node:net";
import type { ListenSockets, ServerListener } from "#contract";

type ListenersOf = (server: Server) => readonly ServerListener[];

/** One component's use of a server. */
class SocketLease implements ReturnType<ListenSockets["add"]> {
  readonly kind: string;
  readonly server: Server;
  /** True while the reload in which the server was taken over may still fail. */
  isProvisional = false;
  private isAttached = false;
  private readonly listeners: readonly ServerListener[];

  constructor(kind: string, server: Server, listeners: readonly ServerListener[]) {
    this.kind = kind;
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

/**
 * The listening servers of an agent, by address. While the agent is being reloaded, components that start may take over
 * the server of another component, or only its listening socket if they need a server of another kind. A reload that
 * fails gives everything back.
 */
export class SharedSockets implements ListenSockets {
  private readonly held = new Map<string, SocketLease>();
  /** The former users of servers that were taken over in the reload under way, by address. Undefined without a reload. */
  private taken: Map<string, SocketLease> | undefined;

  take(address: string, kind: string, listeners: ListenersOf): SocketLease | undefined {
    const former = this.takenFrom(address);
    if (former?.kind !== kind) return undefined;
    const lease = new SocketLease(kind, former.server, listeners(former.server));
    former.detach();
    return this.hold(address, former, lease);
  }

  async takeSocket(
    address: string,
    kind: string,
    server: Server,
    listeners: ListenersOf,
  ): Promise<SocketLease | undefined> {
    const former = this.takenFrom(address);
    if (former === undefined || former.kind === kind) return undefined;
    const lease = new SocketLease(kind, server, listeners(server));
    this.hold(address, former, lease);
    this.forgetWhenClosed(address, server);
    await moveListening(former.server, server);
    return lease;
  }

  add(address: string, kind: string, server: Server, listeners: ListenersOf): SocketLease {
    const lease = new SocketLease(kind, server, listeners(server));
    lease.attach();
    this.held.set(address, lease);
    this.forgetWhenClosed(address, server);
    return lease;
  }

  /** From now on servers may be taken over, until `endReload` or `giveBack`. */
  beginReload(): void {
    this.taken = new Map();
  }

  endReload(): void {
    for (const address of this.taken?.keys() ?? []) {
      const lease = this.held.get(address);
      if (lease !== undefined) lease.isProvisional = false;
    }
    this.taken = undefined;
  }

  /** Gives everything that was taken over in this reload back to its former users. */
  async giveBack(): Promise<void> {
    const { taken = new Map<string, SocketLease>() } = this;
    this.taken = undefined;
    for (const [address, former] of taken) {
      const lease = this.held.get(address)!;
      this.held.set(address, former);
      if (lease.server === former.server) {
        lease.detach();
        former.attach();
      } else {
        await moveListening(lease.server, former.server);
        lease.server.close();
      }
    }
  }

  private takenFrom(address: string): SocketLease | undefined {
    return this.taken === undefined || this.taken.has(address) ? undefined : this.held.get(address);
  }

  private hold(address: string, former: SocketLease, lease: SocketLease): SocketLease {
    this.taken!.set(address, former);
    this.held.set(address, lease);
    lease.attach();
    lease.isProvisional = true;
    return lease;
  }

  private forgetWhenClosed(address: string, server: Server): void {
    server.once("close", () => {
      if (this.held.get(address)?.server === server) this.held.delete(address);
    });
  }
}

/**
 * Lets one server listen in place of another one, with the same socket: connections that wait to be accepted stay. The
 * other server keeps its open connections. Node.js has no public way to take a socket away from a server.
 */
function moveListening(from: Server, to: Server): Promise<void> {
  const owner = from as unknown as { _handle: object | null };
  const { _handle } = owner;
  owner._handle = null;
  if (_handle !== null && isOfCluster(_handle)) {
    Object.assign(to, { _handle });
    (to as unknown as { _listen2(address: null, port: number, type: number): void })._listen2(null, -1, -1);
    return Promise.resolve();
  }
  return new Promise((resolve, reject) => {
    to.once("error", reject);
    to.listen({ _handle } as object, () => {
      to.off("error", reject);
      resolve();
    });
  });
}

/** In a worker the parent process listens, and the handle is an object of the cluster module. A server uses it, but does not accept it as an option. */
function isOfCluster(handle: object): boolean {
  return Object.getPrototypeOf(handle) === Object.prototype;
}
