import { connect, isIP, type Socket } from "node:net";
import process from "node:process";
import { Duplex } from "node:stream";
import type { HttpProxy } from "./proxy.js";

const MAX_HEAD_BYTES = 16 * 1024;
const HEAD_END = Buffer.from("\r\n\r\n");

/** A proxy refused to open a tunnel. */
class TunnelError extends Error {
  override readonly name = "TunnelError";
  readonly code = "EPROXY";
}

/** Opens a connection to the proxy itself. */
export function connectToProxy({ host, port, isSecure }: HttpProxy, options: object = {}): Socket {
  const address = { host, port, noDelay: true, keepAlive: true, ...options };
  if (!isSecure) return connect(address);
  return process.getBuiltinModule("node:tls").connect({ ...address, servername: isIP(host) ? "" : host });
}

/**
 * A stream to an address behind a proxy (CONNECT). It is writable at once: data waits until the proxy has connected.
 * Fails if the proxy refuses.
 */
export class Tunnel extends Duplex {
  private readonly socket: Socket;
  private readonly proxy: HttpProxy;
  private readonly address: string;

  constructor(proxy: HttpProxy, host: string, port: number) {
    super({ allowHalfOpen: false });
    this.proxy = proxy;
    this.address = `${host.includes(":") ? `[${host}]` : host}:${port}`;
    this.socket = connectToProxy(proxy);
    this.socket.once(proxy.isSecure ? "secureConnect" : "connect", () => this.socket.write(this.request()));
  }

  /** Destroys the socket, because a stream under construction is destroyed only after construction ends. */
  override destroy(error?: Error): this {
    this.socket.destroy();
    return super.destroy(error);
  }

  override _construct(done: (error?: Error) => void): void {
    this.readHead(done);
  }

  override _write(chunk: Buffer, _: string, done: (error?: Error | null) => void): void {
    this.socket.write(chunk, done);
  }

  override _read(): void {
    this.socket.resume();
  }

  override _final(done: () => void): void {
    this.socket.end(done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.socket.destroy();
    done(error);
  }

  private request(): string {
    const authorization = this.proxy.authorization;
    const lines = [`CONNECT ${this.address} HTTP/1.1`, `Host: ${this.address}`];
    if (authorization !== undefined) lines.push(`Proxy-Authorization: ${authorization}`);
    return `${lines.join("\r\n")}\r\n\r\n`;
  }

  private readHead(done: (error?: Error) => void): void {
    let head = Buffer.alloc(0);
    let isOver = false;
    const finish = (error?: Error) => {
      if (isOver) return;
      isOver = true;
      this.socket.off("data", onData);
      if (error === undefined) this.passOn(head.subarray(head.indexOf(HEAD_END) + HEAD_END.length));
      done(error);
    };
    const onData = (chunk: Buffer) => {
      head = Buffer.concat([head, chunk]);
      const isComplete = head.includes(HEAD_END);
      if (!isComplete && head.length < MAX_HEAD_BYTES) return;
      const line = head.toString("latin1").split("\r\n", 1)[0]!;
      const isOpen = isComplete && /^HTTP\/1\.[01] 200\b/.test(line);
      finish(isOpen ? undefined : new TunnelError(`the proxy answered ${line.slice(0, 100)}`));
    };
    this.socket.on("data", onData);
    this.socket.once("error", finish);
    this.socket.once("close", () => {
      finish(new TunnelError("the proxy closed the connection instead of answering"));
    });
  }

  /** Pushes bytes that followed the proxy's response: a server that speaks first may already have sent some. */
  private passOn(rest: Buffer): void {
    if (rest.length > 0) this.push(rest);
    this.socket.on("data", (chunk: Buffer) => {
      if (!this.push(chunk)) this.socket.pause();
    });
    this.socket.on("end", () => this.push(null));
    this.socket.on("error", (error) => this.destroy(error));
    this.socket.on("close", () => this.destroy());
  }
}
