import type { ClientHttp2Session, ClientSessionOptions, SecureClientSessionOptions } from "node:http2";
import { connect as connectSocket, isIP } from "node:net";
import process from "node:process";
import type { Duplex } from "node:stream";
import type { Clock } from "#contract";
import type { GrpcTarget } from "../endpoint.js";
import { proxyFromEnvironment } from "../proxy/proxy.js";
import { Tunnel } from "../proxy/tunnel.js";
import type { TlsClientOptions } from "../tls-load.js";
import type { ClientKeepalive } from "./client-keys.js";

const PROBE_TIMEOUT_MS = 10_000;
const CONNECT_TIMEOUT_MS = 5_000;

interface GrpcConnectionSettings {
  readonly target: GrpcTarget;
  /** Undefined means no TLS. */
  readonly tls: TlsClientOptions | undefined;
  readonly keepAlive: ClientKeepalive | undefined;
  readonly clock: Clock;
}

/**
 * The HTTP/2 session to the server. It is opened on first use, and again after it has ended; while it is opening all
 * calls wait for the same one. After a GOAWAY a session finishes its calls and gets no new ones.
 */
export class GrpcConnection {
  /** Number of calls under way, maintained by the callers. Without calls the server is pinged only if configured. */
  openCalls = 0;
  private readonly settings: GrpcConnectionSettings;
  private readonly sessions = new Set<ClientHttp2Session>();
  private current: ClientHttp2Session | undefined;
  private openedAt = 0;
  private probing: ClientHttp2Session | undefined;

  constructor(settings: GrpcConnectionSettings) {
    this.settings = settings;
  }

  /** The session to use now. It may still be connecting: requests on it wait. */
  session(): ClientHttp2Session {
    const { current } = this;
    return current && !current.closed && !current.destroyed ? current : this.open();
  }

  /** Call this when calls on the session get no answer: pings the server, and drops the session if that fails. */
  checkAlive(session: ClientHttp2Session): void {
    if (session.destroyed) return;
    if (session.connecting) {
      if (this.settings.clock.monotonic() - this.openedAt >= CONNECT_TIMEOUT_MS) session.destroy();
      return;
    }
    this.probe(session, this.settings.keepAlive?.timeout ?? PROBE_TIMEOUT_MS);
  }

  /** Closes everything at once. */
  close(): void {
    for (const session of this.sessions) session.destroy();
  }

  private open(): ClientHttp2Session {
    const { target, tls } = this.settings;
    const { connect } = process.getBuiltinModule("node:http2");
    const proxied = connectThroughProxy(target, tls);
    const options = { ...optionsOf(target, tls), ...(proxied && { createConnection: () => proxied }) };
    const session = connect(urlOf(target, tls !== undefined), options);
    this.openedAt = this.settings.clock.monotonic();
    this.current = session;
    this.sessions.add(session);
    const forget = () => {
      if (this.current === session) this.current = undefined;
    };
    session.on("error", forget); // the streams get the error too
    session.on("goaway", forget);
    session.on("close", () => {
      forget();
      this.sessions.delete(session);
    });
    this.pingWhenSilent(session);
    return session;
  }

  private pingWhenSilent(session: ClientHttp2Session): void {
    const { keepAlive } = this.settings;
    if (!keepAlive || keepAlive.time === 0) return;
    // Only after connecting: an earlier ping would fail at once, and the timer would not be set again.
    session.once("connect", () => {
      session.setTimeout(keepAlive.time, () => {
        if (this.openCalls > 0 || keepAlive.permit_without_stream) this.probe(session, keepAlive.timeout);
      });
    });
  }

  private probe(session: ClientHttp2Session, timeoutMs: number): void {
    if (this.probing === session || session.destroyed) return;
    this.probing = session;
    const cancel = this.settings.clock.after(timeoutMs, () => session.destroy());
    session.ping(() => {
      cancel();
      this.probing = undefined;
    });
  }
}

function urlOf({ address }: GrpcTarget, secure: boolean): string {
  const scheme = secure ? "https" : "http";
  if ("path" in address) return `${scheme}://localhost`;
  const host = address.host.includes(":") ? `[${address.host}]` : address.host;
  return `${scheme}://${host}:${address.port}`;
}

/** Uses HTTPS_PROXY with and without TLS, as grpc-go does. */
function connectThroughProxy({ address }: GrpcTarget, tls: TlsClientOptions | undefined): Duplex | undefined {
  if ("path" in address) return undefined;
  const { host, port } = address;
  const proxy = proxyFromEnvironment(true, host, port);
  if (proxy === undefined) return undefined;
  const tunnel = new Tunnel(proxy, host, port);
  if (tls === undefined) return tunnel;
  const servername = tls.servername ?? (isIP(host) ? "" : host);
  const options = { ...tls, host, servername, socket: tunnel, ALPNProtocols: ["h2"] };
  const socket = process.getBuiltinModule("node:tls").connect(options);
  tunnel.on("error", (error) => socket.destroy(error));
  return socket.on("close", () => tunnel.destroy());
}

function optionsOf({ address }: GrpcTarget, tls: TlsClientOptions | undefined) {
  const options: ClientSessionOptions | SecureClientSessionOptions = {
    ...tls,
    settings: { enablePush: false },
    // In MB; counts unsent data, and new calls fail above it. High, because the callers already limit that data.
    maxSessionMemory: 1024,
  };
  if ("path" in address) options.createConnection = () => connectSocket(address.path);
  return options;
}
