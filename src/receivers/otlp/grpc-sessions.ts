import type { ServerHttp2Session } from "node:http2";
import type { Clock } from "../../plugin.js";
import type { GrpcConfig } from "./config.js";

/** What the session may send before it must wait for us: wide, so that a large message needs no round trips. */
const SESSION_WINDOW = 16 * 1024 * 1024;

type KeepAlive = NonNullable<NonNullable<GrpcConfig["keepalive"]>["server_parameters"]>;

/** Without a `keepalive` section: connections that went away without a word, or never spoke HTTP/2, are not kept. */
const DEFAULT_WATCH = { time: 120_000, timeout: 20_000 };

interface Life {
  readonly since: number;
  idleSince: number;
  closing: number | undefined;
}

/** The open connections, and how long each may live. */
export class GrpcSessions {
  private readonly lives = new Map<ServerHttp2Session, Life>();
  private readonly clock: Clock;
  private readonly keepAlive: KeepAlive | undefined;

  constructor(clock: Clock, keepAlive: KeepAlive | undefined) {
    this.clock = clock;
    this.keepAlive = keepAlive;
  }

  add(session: ServerHttp2Session): void {
    const now = this.clock.monotonic();
    this.lives.set(session, { since: now, idleSince: now, closing: undefined });
    session.setLocalWindowSize(SESSION_WINDOW);
    session.on("close", () => this.lives.delete(session));
    session.on("error", () => session.destroy());
    this.watch(session, this.keepAlive ?? DEFAULT_WATCH);
  }

  /** Ends connections that are too old or were idle for too long, politely first. `busy` tells which have calls. */
  checkTime(now: number, busy: (session: ServerHttp2Session) => boolean): void {
    const {
      max_connection_age: age,
      max_connection_idle: idle,
      max_connection_age_grace: grace,
    } = this.keepAlive ?? {};
    if (!age && !idle) return;
    for (const [session, life] of this.lives) {
      if (busy(session)) life.idleSince = now;
      const over = (age && now - life.since >= age) || (idle && now - life.idleSince >= idle);
      if (over && life.closing === undefined) {
        life.closing = now;
        session.close();
      }
      if (life.closing !== undefined && grace && now - life.closing >= grace) session.destroy();
    }
  }

  /** GOAWAY: no new calls, those that are open may end. */
  closeAll(): void {
    for (const session of this.lives.keys()) session.close();
  }

  destroyAll(): void {
    for (const session of this.lives.keys()) session.destroy();
  }

  /** A client that is silent for `time` and then does not answer a ping within `timeout` is gone. */
  private watch(session: ServerHttp2Session, { time, timeout }: Pick<KeepAlive, "time" | "timeout">): void {
    if (time === 0) return;
    session.setTimeout(Math.min(time, 2 ** 31 - 1), () => {
      if (session.destroyed) return;
      const giveUp = this.clock.after(timeout, () => session.destroy());
      session.ping(() => giveUp());
    });
  }
}
