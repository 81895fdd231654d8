import { connect, isIP, type NetConnectOpts, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { TlsClientOptions } from "#net";

interface RedisClientSettings {
  readonly address: { readonly path: string } | { readonly host: string; readonly port: number };
  /** Undefined means plain text. */
  readonly tls: TlsClientOptions | undefined;
  readonly username: string | undefined;
  readonly password: string | undefined;
}

/** INFO of a large server has about 20 kB. */
const MAX_REPLY_BYTES = 4 * 1024 * 1024;

interface Pending {
  readonly resolve: (text: string) => void;
  readonly reject: (error: Error) => void;
}

/**
 * A client for the few commands of the receiver, which all have text as their reply. The connection is opened for the
 * first command and kept until something fails.
 */
export class RedisInfoClient {
  private readonly settings: RedisClientSettings;
  private socket: Socket | undefined;
  private received: Buffer = Buffer.alloc(0);
  private readonly pending: Pending[] = [];

  constructor(settings: RedisClientSettings) {
    this.settings = settings;
  }

  /** Rejects if the server cannot be reached or refuses the command, or when `abort` fires. */
  async command(parts: readonly string[], abort: AbortSignal): Promise<string> {
    const onAbort = () => this.close(new Error("it took too long"));
    abort.throwIfAborted();
    abort.addEventListener("abort", onAbort, { once: true });
    try {
      if (this.socket === undefined) await this.open();
      return await this.send(parts);
    } finally {
      abort.removeEventListener("abort", onAbort);
    }
  }

  close(error = new Error("the connection was closed")): void {
    this.socket?.destroy();
    this.socket = undefined;
    this.received = Buffer.alloc(0);
    for (const { reject } of this.pending.splice(0)) reject(error);
  }

  private async open(): Promise<void> {
    const { address, tls, username, password } = this.settings;
    const servername = "host" in address && isIP(address.host) === 0 ? { servername: address.host } : {};
    const socket =
      tls === undefined ? connect(address as NetConnectOpts) : connectTls({ ...address, ...servername, ...tls });
    this.socket = socket;
    const fail = (error: Error) => {
      if (this.socket === socket) this.close(error);
    };
    socket.on("error", fail);
    socket.on("close", () => fail(new Error("the server closed the connection")));
    socket.on("data", (chunk) => this.read(chunk));
    // An idle connection must not keep the process alive.
    socket.unref();
    if (password !== undefined)
      await this.send(username === undefined ? ["AUTH", password] : ["AUTH", username, password]);
  }

  private send(parts: readonly string[]): Promise<string> {
    const lines = parts.map((part) => `$${Buffer.byteLength(part)}\r\n${part}\r\n`);
    return new Promise((resolve, reject) => {
      this.pending.push({ resolve, reject });
      this.socket?.write(`*${parts.length}\r\n${lines.join("")}`);
    });
  }

  private read(chunk: Buffer): void {
    this.received = this.received.length === 0 ? chunk : Buffer.concat([this.received, chunk]);
    if (this.received.length > MAX_REPLY_BYTES) return this.close(new Error("the reply is too long"));
    while (this.pending.length > 0 && this.readReply());
  }

  /** Returns false if the reply is not complete. */
  private readReply(): boolean {
    const { received } = this;
    const end = received.indexOf("\r\n");
    if (end < 0) return false;
    const line = received.toString("utf8", 1, end);
    const kind = String.fromCharCode(received[0]!);
    const start = end + 2;
    if (kind === "$") {
      const length = Number(line);
      if (!(length >= 0 && length <= MAX_REPLY_BYTES)) {
        this.close(new Error("the reply is not text"));
        return false;
      }
      if (received.length < start + length + 2) return false;
      this.settle(start + length + 2).resolve(received.toString("utf8", start, start + length));
    } else if (kind === "+") this.settle(start).resolve(line);
    else if (kind === "-") this.settle(start).reject(new Error(`the server says: ${line.slice(0, 200)}`));
    else {
      this.close(new Error("the server does not speak Redis's protocol"));
      return false;
    }
    return true;
  }

  private settle(used: number): Pending {
    this.received = this.received.subarray(used);
    return this.pending.shift()!;
  }
}
