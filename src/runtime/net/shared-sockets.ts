import type { Server } from "node:net";
import process from "node:process";
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
    assertMovable(former.server, address);
    const lease = new SocketLease(kind, server, listeners(server));
    this.hold(address, former, lease);
    this.forgetWhenClosed(address, server);
    try {
      await moveListening(former.server, server);
    } catch (error) {
      this.taken!.delete(address);
      this.held.set(address, former);
      throw error;
    }
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
 * The private parts of a server that `moveListening` uses. Node.js has no public way to take a socket away from a
 * server: see docs/decisions/0039-beyond-public-interfaces.md.
 */
interface PrivateServer {
  /** The listening socket; null if the server does not listen. */
  _handle: object | null;
  /** Makes a server listen with its handle, whatever that is. */
  _listen2(address: null, port: number, type: number): void;
}

/**
 * Throws if this Node.js keeps the socket elsewhere. Nothing has changed then: a reload fails with this message, and the
 * agent keeps its former config.
 */
function assertMovable(server: Server, address: string): void {
  const { _handle, _listen2 } = server as unknown as Partial<PrivateServer>;
  if (_handle !== undefined && typeof _listen2 === "function") return;
  throw new Error(
    `cannot change what kind of server listens on ${address} while the agent runs, because Node.js ${process.version} does not let another server have its socket; restart the agent`,
  );
}

/**
 * Lets one server listen in place of another one, with the same socket: connections that wait to be accepted stay. The
 * other server keeps its open connections. If this fails, it keeps its socket, too.
 */
function moveListening(from: Server, to: Server): Promise<void> {
  const owner = from as unknown as PrivateServer;
  const { _handle } = owner;
  owner._handle = null;
  return listenWith(to, _handle).catch((error: unknown) => {
    owner._handle = _handle;
    throw error;
  });
}

async function listenWith(server: Server, _handle: object | null): Promise<void> {
  if (_handle !== null && isOfCluster(_handle)) {
    Object.assign(server, { _handle });
    (server as unknown as PrivateServer)._listen2(null, -1, -1);
    return;
  }
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ _handle } as object, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

/** In a worker the parent process listens, and the handle is an object of the cluster module. A server uses it, but does not accept it as an option. */
function isOfCluster(handle: object): boolean {
  return Object.getPrototypeOf(handle) === Object.prototype;
}
