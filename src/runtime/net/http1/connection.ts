import { connect, isIP, type LookupFunction, type Socket } from "node:net";
import process from "node:process";
import type { ConnectionOptions } from "node:tls";
import type { Clock } from "#contract";
import { NoAnswerError } from "../connection-error.js";
import type { HttpProxy } from "../proxy/proxy.js";
import { connectToProxy, Tunnel } from "../proxy/tunnel.js";
import type { TlsClientOptions } from "../tls-load.js";
import { AnswerFormatError, type AnswerHead, AnswerReader } from "./answer.js";
import { type RequestHead, RequestWriter } from "./request-writer.js";

/** Target of a client's connections. */
export interface Http1Origin {
  /** A name or an address; an IPv6 address has no brackets. */
  readonly host: string;
  readonly port: number;
  /** Set for https. */
  readonly tls?: TlsClientOptions | undefined;
  /** The proxy, if any: https goes through a tunnel; http requests are sent to the proxy with whole URLs. */
  readonly proxy?: HttpProxy | undefined;
  /** Resolves the host's addresses in place of the system. */
  readonly lookup?: LookupFunction | undefined;
}

/** Callbacks of a connection to its pool. */
export interface ConnectionPool {
  readonly origin: Http1Origin;
  readonly clock: Clock;
  readonly maxAnswerBytes: number;
  /** The last TLS session, for resuming it on the next connection. */
  session: Buffer | undefined;
  /**
   * The connection has read its response and can be reused. `keepAliveMs` is how long the server keeps it, if it said
   * so.
   */
  released(connection: Http1Connection, keepAliveMs: number | undefined): void;
  /** The connection is closed. */
  closed(connection: Http1Connection): void;
}

/** Time limit for the body of a response after its head. */
const BODY_TIMEOUT_MS = 10_000;
/** Responses are short. */
const READ_BUFFER_BYTES = 8 * 1024;
const KEEP_ALIVE_PROBE_MS = 1000;

/**
 * A connection that carries one request at a time. It settles its exchange exactly once, after telling the pool about
 * its own state. It closes itself in any unclear situation: unexpected bytes, a response before the request was
 * written, an invalid response. While it has no exchange it does not keep the process alive.
 */
export class Http1Connection {
  /** Monotonic time after which it must not be used any more. */
  idleUntil = 0;
  private readonly pool: ConnectionPool;
  private readonly socket: Socket;
  private readonly reader: AnswerReader;
  private readonly readBuffer = Buffer.allocUnsafeSlow(READ_BUFFER_BYTES);
  private readonly writer: RequestWriter;
  private exchange: Exchange | undefined;
  private isReady = false;
  private wasUsed = false;
  private isClosed = false;
  private cancelBodyTimer: (() => void) | undefined;

  /** Opens a connection for an exchange. */
  constructor(pool: ConnectionPool, exchange: Exchange) {
    this.pool = pool;
    this.exchange = exchange;
    exchange.connection = this;
    this.reader = new AnswerReader(pool.maxAnswerBytes);
    this.socket = this.openSocket();
    this.writer = new RequestWriter(this.socket);
    this.socket.on("error", (error) => this.end(error));
    this.socket.on("end", () => this.onEnd());
    this.socket.on("close", () => this.onEnd());
  }

  /** Sends a request on an idle connection. */
  send(exchange: Exchange): void {
    this.exchange = exchange;
    exchange.connection = this;
    this.wasUsed = true;
    this.socket.ref();
    this.write(exchange);
  }

  /**
   * Ends the current exchange and the connection. If the response head has arrived the exchange succeeds, with the
   * error as its `bodyError`.
   */
  end(error: Error): void {
    const { exchange } = this;
    const { head, hasBegun } = this.reader;
    const counts = head !== undefined && this.isPlausible(head);
    if (!this.isReady) this.pool.session = undefined;
    this.close();
    if (exchange === undefined) return;
    if (counts) exchange.succeed(head, this.reader.body(), error);
    else exchange.fail(error, this.wasUsed && !hasBegun && isDisconnect(error));
  }

  /** Destroys the socket at once. */
  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.exchange = undefined;
    this.writer.stop();
    this.cancelBodyTimer?.();
    this.socket.destroy();
    this.pool.closed(this);
  }

  private openSocket(): Socket {
    const { host, port, tls, proxy, lookup } = this.pool.origin;
    const onread = { buffer: this.readBuffer, callback: (bytes: number) => this.onRead(bytes) };
    const keepAlive = { noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_PROBE_MS };
    const options = { host, port, ...keepAlive, onread, ...(lookup && { lookup }) };
    if (tls === undefined && proxy !== undefined) {
      const socket = connectToProxy(proxy, { onread });
      return socket.once(proxy.isSecure ? "secureConnect" : "connect", () => this.onReady());
    }
    if (tls === undefined) return connect(options).once("connect", () => this.onReady());
    const servername = tls.servername ?? (isIP(host) ? "" : host);
    const { session } = this.pool;
    const way = proxy === undefined ? options : { host, socket: new Tunnel(proxy, host, port) };
    const secure: ConnectionOptions = { ...way, ...tls, servername, ALPNProtocols: ["http/1.1"] };
    const socket = process.getBuiltinModule("node:tls").connect(session ? { ...secure, session } : secure);
    socket.on("session", (next: Buffer) => (this.pool.session = next));
    if ("socket" in way) this.readTunnel(socket, way.socket);
    // Nothing is written before the certificate has been verified.
    return socket.once("secureConnect", () => this.onReady());
  }

  /** Copies the data into our buffer: Node.js supports `onread` only for its own sockets. */
  private readTunnel(socket: Socket, tunnel: Tunnel): void {
    tunnel.on("error", (error) => socket.destroy(error));
    socket.on("close", () => tunnel.destroy());
    socket.on("data", (chunk: Buffer) => {
      for (let p = 0; p < chunk.length; p += READ_BUFFER_BYTES) this.onRead(chunk.copy(this.readBuffer, 0, p));
    });
  }

  private onReady(): void {
    this.isReady = true;
    if (this.exchange !== undefined) this.write(this.exchange);
  }

  private write(exchange: Exchange): void {
    this.reader.expectAnswer(exchange.head.method);
    this.writer.write(exchange);
  }

  private onRead(bytes: number): boolean {
    const { reader, exchange } = this;
    if (this.isClosed) return false;
    if (exchange === undefined || !this.isReady) this.end(new AnswerFormatError("an answer came before the request"));
    else {
      try {
        const used = reader.read(this.readBuffer, bytes);
        // After a full buffer there may be more data that has already arrived.
        if (reader.isComplete) this.finish(exchange, used === bytes && bytes < READ_BUFFER_BYTES);
        else if (reader.head !== undefined) this.cancelBodyTimer ??= this.limitBody();
      } catch (error) {
        this.end(error as Error);
      }
    }
    return !this.isClosed;
  }

  private limitBody(): () => void {
    return this.pool.clock.after(BODY_TIMEOUT_MS, () => this.end(new Error("the body of the answer took too long")));
  }

  private onEnd(): void {
    const { exchange } = this;
    if (this.isClosed) return;
    if (exchange !== undefined && this.reader.readEnd()) this.finish(exchange, false);
    else this.end(hangUp());
  }

  private finish(exchange: Exchange, isClean: boolean): void {
    const head = this.reader.head!;
    const body = this.reader.body();
    const counts = this.isPlausible(head);
    const isWritten = this.writer.isTaken && this.socket.writableLength === 0;
    const isKept = isClean && isWritten && head.keepsAlive && head.keepAliveMs !== 0;
    if (isKept && this.pool.origin.tls !== undefined) return this.finishAfterTurn(exchange, head, body);
    if (isKept) this.release(head.keepAliveMs);
    else this.close();
    if (counts) exchange.succeed(head, body);
    else
      exchange.fail(new AnswerFormatError("the server answered with success before the whole request was sent"), false);
  }

  /**
   * An error response may come early, but a success before the whole request was sent cannot be true. Believing it
   * would lose data.
   */
  private isPlausible({ status }: AnswerHead): boolean {
    return this.writer.isTaken || status >= 300;
  }

  /**
   * Over TLS, further data that has arrived is delivered record by record before this turn of the event loop ends. At
   * that point there must be no exchange that could take it for a response.
   */
  private finishAfterTurn(exchange: Exchange, head: AnswerHead, body: Buffer): void {
    this.exchange = undefined;
    setImmediate(() => {
      if (!this.isClosed) this.release(head.keepAliveMs);
      exchange.succeed(head, body);
    });
  }

  private release(keepAliveMs: number | undefined): void {
    this.cancelBodyTimer?.();
    this.cancelBodyTimer = undefined;
    this.exchange = undefined;
    this.socket.unref();
    this.pool.released(this, keepAliveMs);
  }
}

/** The error that Node.js gives when the server closes a connection instead of answering. */
function hangUp(): Error {
  return Object.assign(new Error("socket hang up"), { code: "ECONNRESET" });
}

function isDisconnect(error: NodeJS.ErrnoException): boolean {
  return error.code === "ECONNRESET" || error.code === "EPIPE";
}

/** The response to a request. */
export interface Http1Answer {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: ReadonlyMap<string, string>;
  /** The part of the body that arrived. */
  readonly body: Buffer;
  /** Why the body is incomplete: too large, broken off or too slow. Undefined when it is complete. */
  readonly bodyError: Error | undefined;
}

/** A request, and the promise of its response. It is settled once; after that it ignores aborts. */
export class Exchange {
  readonly head: RequestHead;
  readonly body: readonly Uint8Array[];
  readonly byteLength: number;
  /** True if it needs a new connection. */
  readonly isFresh: boolean;
  /** Its connection, once it has one. */
  connection: Http1Connection | undefined;
  private readonly abort: AbortSignal | undefined;
  private readonly onAbort: (exchange: Exchange) => void;
  private readonly resolve: (answer: Http1Answer) => void;
  private readonly reject: (error: NoAnswerError) => void;

  constructor(
    head: RequestHead,
    body: readonly Uint8Array[],
    abort: AbortSignal | undefined,
    isFresh: boolean,
    onAbort: (exchange: Exchange) => void,
    resolve: (answer: Http1Answer) => void,
    reject: (error: NoAnswerError) => void,
  ) {
    this.head = head;
    this.body = body;
    this.byteLength = body.length === 1 ? body[0]!.length : body.reduce((sum, piece) => sum + piece.length, 0);
    this.abort = abort;
    this.isFresh = isFresh;
    this.onAbort = onAbort;
    this.resolve = resolve;
    this.reject = reject;
    abort?.addEventListener("abort", this);
  }

  /** Called by the AbortSignal; an object as listener avoids a closure per request. */
  handleEvent(): void {
    this.onAbort(this);
  }

  succeed({ status, headers }: AnswerHead, body: Buffer, bodyError?: Error): void {
    this.abort?.removeEventListener("abort", this);
    this.resolve({ status, headers, body, bodyError });
  }

  fail(error: Error, isStale: boolean): void {
    this.abort?.removeEventListener("abort", this);
    this.reject(new NoAnswerError(error, isStale));
  }
}
