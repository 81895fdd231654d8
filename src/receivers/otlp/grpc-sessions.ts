import type { ServerHttp2Session } from "node:http2";
import type { Clock } from "../../plugin.js";
import { DEFAULT_MAX_CONNECTION_IDLE_MS, type GrpcConfig } from "./config.js";

/**
 * How many bytes a session may send before it must wait for us: wide, so a large message needs no extra round trips.
 */
const SESSION_WINDOW = 16 * 1024 * 1024;

type ServerKeepalive = NonNullable<NonNullable<GrpcConfig["keepalive"]>["server_parameters"]>;

/** Used without a `keepalive` section: closes connections that went away silently, never spoke HTTP/2 or are unused. */
const DEFAULT_KEEPALIVE: ServerKeepalive = {
  time: 120_000,
  timeout: 20_000,
  max_connection_idle: DEFAULT_MAX_CONNECTION_IDLE_MS,
};

/** How long a ping may stay in the queue of a session before the session counts as dead. */
const UNSENT_PING_MS = 1500;
/** A session that is never quiet is still pinged this often. */
const MAX_UNPROVEN_MS = 10_000;

interface SessionTimes {
  readonly since: number;
  idleSince: number;
  closing: number | undefined;
  /** Bytes read at the last check, bytes read when the session was last known to be alive, and that time. */
  bytesRead: number;
  provenBytes: number;
  provenAt: number;
  /** When the ping that tests the session was queued; undefined if there is none. */
  pingedAt: number | undefined;
}

/** The open connections and their lifetimes. */
export class GrpcSessions {
  private readonly sessions = new Map<ServerHttp2Session, SessionTimes>();
  private readonly clock: Clock;
  private readonly keepAlive: ServerKeepalive;

  constructor(clock: Clock, keepAlive: ServerKeepalive = DEFAULT_KEEPALIVE) {
    this.clock = clock;
    this.keepAlive = keepAlive;
  }

  add(session: ServerHttp2Session): void {
    const now = this.clock.monotonic();
    const times: SessionTimes = {
      since: now,
      idleSince: now,
      closing: undefined,
      bytesRead: 0,
      provenBytes: 0,
      provenAt: now,
      pingedAt: undefined,
    };
    this.sessions.set(session, times);
    // Only pings that the client sends on its own are reported here; its answers to our pings are not.
    session.on("ping", () => {
      times.idleSince = this.clock.monotonic();
    });
    session.setLocalWindowSize(SESSION_WINDOW);
    session.on("close", () => this.sessions.delete(session));
    session.on("error", () => session.destroy());
    this.pingWhenSilent(session, this.keepAlive);
  }

  /** Ends connections that are dead, too old or idle for too long. `busy` tells which have calls. */
  checkTime(now: number, busy: (session: ServerHttp2Session) => boolean): void {
    for (const [session, times] of this.sessions) endIfTerminated(session, times, now);
    this.endIfOld(now, busy);
  }

  /** Closes gracefully first and destroys after the grace period. */
  private endIfOld(now: number, busy: (session: ServerHttp2Session) => boolean): void {
    const { max_connection_age: age, max_connection_idle: idle, max_connection_age_grace: grace } = this.keepAlive;
    if (!age && !idle) return;
    for (const [session, times] of this.sessions) {
      if (busy(session)) times.idleSince = now;
      const over = (age && now - times.since >= age) || (idle && now - times.idleSince >= idle);
      if (over && times.closing === undefined) {
        times.closing = now;
        session.close();
      }
      if (times.closing !== undefined && grace && now - times.closing >= grace) session.destroy();
    }
  }

  /** Sends GOAWAY: no new calls are accepted, open ones may end. */
  closeAll(): void {
    for (const session of this.sessions.keys()) session.close();
  }

  destroyAll(): void {
    for (const session of this.sessions.keys()) session.destroy();
  }

  /** A client that is silent for `time` and then does not answer a ping within `timeout` is considered gone. */
  private pingWhenSilent(
    session: ServerHttp2Session,
    { time, timeout }: Pick<ServerKeepalive, "time" | "timeout">,
  ): void {
    if (time === 0) return;
    session.setTimeout(Math.min(time, 2 ** 31 - 1), () => {
      if (session.destroyed) return;
      const cancel = this.clock.after(timeout, () => session.destroy());
      session.ping(() => cancel());
    });
  }
}

/**
 * Ends sessions that nghttp2 has terminated. When a client breaks the protocol, nghttp2 sends GOAWAY and then neither
 * reads nor writes. Node.js does not report this and keeps the connection, even after the client has closed it. Such a
 * session never sends a queued ping, so each session gets one after it has received data and then fallen silent.
 */
function endIfTerminated(session: ServerHttp2Session, times: SessionTimes, now: number): void {
  if (session.destroyed) return;
  const { bytesRead } = session.socket;
  const isQuiet = bytesRead === times.bytesRead;
  times.bytesRead = bytesRead;
  if (times.pingedAt !== undefined) {
    if (session.state.outboundQueueSize === 0) prove(times, bytesRead, now);
    else if (now - times.pingedAt >= UNSENT_PING_MS) session.destroy();
    return;
  }
  if (bytesRead === times.provenBytes || !(isQuiet || now - times.provenAt >= MAX_UNPROVEN_MS)) return;
  times.pingedAt = now;
  session.ping((error) => {
    if (error === null && !session.destroyed) prove(times, session.socket.bytesRead, now);
  });
}

function prove(times: SessionTimes, bytesRead: number, now: number): void {
  times.provenBytes = bytesRead;
  times.provenAt = now;
  times.pingedAt = undefined;
}
