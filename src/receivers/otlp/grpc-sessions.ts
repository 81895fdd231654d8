import type { ServerHttp2Session } from "node:http2";
import type { Clock } from "../../plugin.js";
import type { GrpcConfig } from "./config.js";

/** What the session may send before it must wait for us: wide, so that a large message needs no round trips. */
const SESSION_WINDOW = 16 * 1024 * 1024;

type ServerKeepalive = NonNullable<NonNullable<GrpcConfig["keepalive"]>["server_parameters"]>;

/** Without a `keepalive` section: connections that went away without a word, or never spoke HTTP/2, are not kept. */
const DEFAULT_KEEPALIVE = { time: 120_000, timeout: 20_000 };

/** How long a ping may lie in the queue of a session that sends nothing any more. */
const UNSENT_PING_MS = 1500;
/** A session that is never quiet is pinged this often nevertheless. */
const MAX_UNPROVEN_MS = 10_000;

interface SessionTimes {
  readonly since: number;
  idleSince: number;
  closing: number | undefined;
  /** What had been read of the connection at the last check, and when the session was last known to be alive. */
  bytesRead: number;
  provenBytes: number;
  provenAt: number;
  /** When the ping was handed over that is to prove it. */
  pingedAt: number | undefined;
}

/** The open connections, and how long each may live. */
export class GrpcSessions {
  private readonly sessions = new Map<ServerHttp2Session, SessionTimes>();
  private readonly clock: Clock;
  private readonly keepAlive: ServerKeepalive | undefined;

  constructor(clock: Clock, keepAlive: ServerKeepalive | undefined) {
    this.clock = clock;
    this.keepAlive = keepAlive;
  }

  add(session: ServerHttp2Session): void {
    const now = this.clock.monotonic();
    this.sessions.set(session, {
      since: now,
      idleSince: now,
      closing: undefined,
      bytesRead: 0,
      provenBytes: 0,
      provenAt: now,
      pingedAt: undefined,
    });
    session.setLocalWindowSize(SESSION_WINDOW);
    session.on("close", () => this.sessions.delete(session));
    session.on("error", () => session.destroy());
    this.pingWhenSilent(session, this.keepAlive ?? DEFAULT_KEEPALIVE);
  }

  /** Ends connections that are dead, too old or were idle for too long. `busy` tells which have calls. */
  checkTime(now: number, busy: (session: ServerHttp2Session) => boolean): void {
    for (const [session, times] of this.sessions) endIfTerminated(session, times, now);
    this.endIfOld(now, busy);
  }

  /** Politely first. */
  private endIfOld(now: number, busy: (session: ServerHttp2Session) => boolean): void {
    const {
      max_connection_age: age,
      max_connection_idle: idle,
      max_connection_age_grace: grace,
    } = this.keepAlive ?? {};
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

  /** GOAWAY: no new calls, those that are open may end. */
  closeAll(): void {
    for (const session of this.sessions.keys()) session.close();
  }

  destroyAll(): void {
    for (const session of this.sessions.keys()) session.destroy();
  }

  /** A client that is silent for `time` and then does not answer a ping within `timeout` is gone. */
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
 * A client that breaks the protocol is sent GOAWAY by nghttp2, which from then on neither reads nor writes; Node.js says nothing of
 * it and keeps the connection, even when the client has closed it. Such a session is known by a ping that is not sent. So
 * each is given one when it has received something and then fallen silent.
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
