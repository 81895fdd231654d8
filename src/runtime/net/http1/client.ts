import type { Clock } from "#contract";
import { type ConnectionPool, Exchange, type Http1Answer, Http1Connection, type Http1Origin } from "./connection.js";
import type { RequestHead } from "./request-writer.js";

export interface Http1Settings {
  readonly clock: Clock;
  /** Limit for open connections; further requests wait. */
  readonly maxConnections: number;
  /** Limit for idle connections; 0 means that each connection carries one request. */
  readonly maxIdle: number;
  /**
   * How long an idle connection is kept, in milliseconds, unless the server says less; 0 means as long as the server
   * does.
   */
  readonly idleTimeoutMs: number;
  /** Longer response bodies are not read to their end. */
  readonly maxAnswerBytes: number;
}

/**
 * An HTTP/1.1 client for one origin. Connections are kept and reused, with one request at a time on each. The most
 * recently used one is reused first, so that surplus ones expire.
 */
export class Http1Client implements ConnectionPool {
  readonly origin: Http1Origin;
  readonly clock: Clock;
  readonly maxAnswerBytes: number;
  session: Buffer | undefined;
  private readonly settings: Http1Settings;
  private readonly connections = new Set<Http1Connection>();
  /** The most recently used one is last. */
  private readonly idle: Http1Connection[] = [];
  private readonly waiting: Exchange[] = [];
  private cancelSweep: (() => void) | undefined;
  private isClosed = false;

  constructor(origin: Http1Origin, settings: Http1Settings) {
    this.origin = origin;
    this.settings = settings;
    this.clock = settings.clock;
    this.maxAnswerBytes = settings.maxAnswerBytes;
  }

  /**
   * Sends a request and resolves with its response. Rejects with a `NoAnswerError` when there is none, and at once when
   * `abort` fires before the response head has arrived. The body must not change until then. `isFresh` requires a new
   * connection.
   */
  request(head: RequestHead, body: readonly Uint8Array[], abort?: AbortSignal, isFresh = false): Promise<Http1Answer> {
    return new Promise((resolve, reject) => {
      const exchange = new Exchange(head, body, abort, isFresh, this.giveUp, resolve, reject);
      if (this.isClosed) exchange.fail(new Error("the client was closed"), false);
      else if (abort?.aborted) exchange.fail(new Error("aborted"), false);
      else this.start(exchange);
    });
  }

  /** Closes every connection; requests under way fail. */
  close(): void {
    this.isClosed = true;
    this.cancelSweep?.();
    const error = new Error("the client was closed");
    for (const exchange of this.waiting.splice(0)) exchange.fail(error, false);
    for (const connection of [...this.connections]) connection.end(error);
  }

  released(connection: Http1Connection, keepAliveMs = Number.POSITIVE_INFINITY): void {
    const next = this.waiting[0];
    if (next !== undefined && !next.isFresh && this.settings.maxIdle > 0) {
      this.waiting.shift();
      connection.send(next);
    } else if (next !== undefined || this.idle.length >= this.settings.maxIdle) connection.close();
    else this.keep(connection, Math.min(keepAliveMs, this.settings.idleTimeoutMs || Number.POSITIVE_INFINITY));
  }

  closed(connection: Http1Connection): void {
    this.connections.delete(connection);
    const at = this.idle.indexOf(connection);
    if (at !== -1) this.idle.splice(at, 1);
    const next = this.isClosed ? undefined : this.waiting.shift();
    if (next !== undefined) this.connect(next);
  }

  private start(exchange: Exchange): void {
    const connection = exchange.isFresh ? undefined : this.takeIdle();
    if (connection !== undefined) connection.send(exchange);
    else if (this.connections.size < this.settings.maxConnections) this.connect(exchange);
    else if (!exchange.isFresh) this.waiting.push(exchange);
    else {
      this.waiting.unshift(exchange);
      this.idle[0]?.close();
    }
  }

  private connect(exchange: Exchange): void {
    this.connections.add(new Http1Connection(this, exchange));
  }

  private takeIdle(): Http1Connection | undefined {
    const now = this.clock.monotonic();
    for (let connection = this.idle.pop(); connection !== undefined; connection = this.idle.pop()) {
      if (now < connection.idleUntil) return connection;
      connection.close();
    }
    return undefined;
  }

  private keep(connection: Http1Connection, forMs: number): void {
    connection.idleUntil = this.clock.monotonic() + forMs;
    this.idle.push(connection);
    if (forMs !== Number.POSITIVE_INFINITY) this.cancelSweep ??= this.clock.after(forMs, this.sweep);
  }

  /** Closes connections that were idle for too long, and schedules the next check. */
  private readonly sweep = (): void => {
    const now = this.clock.monotonic();
    for (const connection of this.idle.filter(({ idleUntil }) => idleUntil <= now)) connection.close();
    const next = this.idle.reduce((soonest, { idleUntil }) => Math.min(soonest, idleUntil), Number.POSITIVE_INFINITY);
    const isNeeded = next !== Number.POSITIVE_INFINITY;
    this.cancelSweep = isNeeded ? this.clock.after(next - now, this.sweep) : undefined;
  };

  private readonly giveUp = (exchange: Exchange): void => {
    const error = new Error("aborted");
    const at = this.waiting.indexOf(exchange);
    if (at !== -1) this.waiting.splice(at, 1);
    if (exchange.connection !== undefined) exchange.connection.end(error);
    else exchange.fail(error, false);
  };
}
