import { connect, isIP, type NetConnectOpts, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { TlsClientOptions } from "#net";
import { authAnswer, DEFAULT_PLUGIN, type MysqlCredentials, moreAuth } from "./authentication.js";
import { handshakeAnswer, type MysqlGreeting, offersTls, readGreeting, tlsRequest } from "./handshake.js";
import { MysqlProtocolError, PacketReader, PayloadReader, packetsOf } from "./packets.js";
import { isServerError, type MysqlResult, MysqlServerError, ResultReader, readServerError } from "./result-reader.js";

export interface MysqlSettings {
  readonly address: { readonly path: string } | { readonly host: string; readonly port: number };
  /** Undefined: plain text. */
  readonly tls: TlsClientOptions | undefined;
  /** Whether a server without TLS gets plain text instead. */
  readonly isTlsOptional?: boolean;
  readonly credentials: MysqlCredentials;
  /** The database to begin with; empty for none. */
  readonly database: string;
  /** The name by which the server lists the connection. */
  readonly program: string;
  /** A larger result is refused. */
  readonly maxResultBytes: number;
}

const COM_QUIT = 1;
const COM_QUERY = 3;
const MAX_GREETING_BYTES = 64 * 1024;
const MAX_AUTH_ROUNDS = 10;

/**
 * A connection to MySQL or MariaDB that runs one statement at a time and gives its rows as text. After an error other
 * than one that the server has reported it is closed. Nothing that the server sends makes it send more than it was
 * asked to: it gives no files, and the password only as the credentials allow.
 */
export class MysqlConnection {
  private readonly settings: MysqlSettings;
  private socket: Socket;
  private reader: PacketReader;
  private onPacket: (payload: Buffer) => void = () =>
    this.fail(new MysqlProtocolError("the server sent an unexpected packet"));
  private onFailure: (error: Error) => void = () => {};
  private failure: Error | undefined;
  private version = "";

  private constructor(settings: MysqlSettings, socket: Socket) {
    this.settings = settings;
    this.socket = socket;
    this.reader = this.newReader(MAX_GREETING_BYTES);
    this.listen();
  }

  /** Rejects with the reason if the server cannot be reached or refuses the client, or when `abort` fires. */
  static async open(settings: MysqlSettings, abort: AbortSignal): Promise<MysqlConnection> {
    abort.throwIfAborted();
    const connection = new MysqlConnection(settings, connect(settings.address as NetConnectOpts));
    await connection.abortable(abort, connection.shakeHands());
    return connection;
  }

  /** The version that the server reports, such as `8.4.2` or `10.11.6-MariaDB`. */
  get serverVersion(): string {
    return this.version;
  }

  get isOpen(): boolean {
    return this.failure === undefined;
  }

  /** Rejects with a `MysqlServerError` that the server reported, or with another error when the connection is lost. */
  query(text: string, abort: AbortSignal): Promise<MysqlResult> {
    return this.abortable(abort, this.run(text));
  }

  /** Closes the connection; a statement under way fails. */
  close(): void {
    if (!this.isOpen) return;
    this.send(Buffer.of(COM_QUIT), true);
    this.fail(new Error("the connection was closed"), true);
  }

  private run(text: string): Promise<MysqlResult> {
    const { maxResultBytes } = this.settings;
    const result = new ResultReader(maxResultBytes);
    return this.exchange<MysqlResult>(Buffer.concat([Buffer.of(COM_QUERY), Buffer.from(text)]), true, (payload) =>
      result.take(payload),
    );
  }

  private async shakeHands(): Promise<void> {
    const { settings } = this;
    const { database, credentials, program } = settings;
    const greeting = await this.exchange(undefined, true, (payload) => {
      if (isServerError(payload)) throw readServerError(payload);
      return readGreeting(payload);
    });
    // Bytes before TLS begins could be from anybody.
    if (this.reader.isInside) throw this.fail(new MysqlProtocolError("the server sent an unexpected packet"));
    this.version = greeting.version.replace(/^5\.5\.5-(?=.*MariaDB)/, "");
    const isTls = await this.startTls(greeting);
    this.reader = this.newReader(settings.maxResultBytes, this.reader.sequence);
    const plugin = greeting.plugin || DEFAULT_PLUGIN;
    const auth = new Authentication(credentials, plugin, greeting.nonce, isTls || "path" in settings.address);
    const answer = { isTls, username: credentials.username, database, program };
    const first = handshakeAnswer({ ...answer, plugin: auth.plugin, auth: auth.firstAnswer() }, greeting);
    await this.exchange<true>(first, false, (payload) => {
      const reply = auth.take(payload);
      if (reply === true) return true;
      if (reply !== undefined) this.send(reply, false);
      return undefined;
    });
  }

  /** Returns whether the connection is encrypted now. */
  private async startTls(greeting: MysqlGreeting): Promise<boolean> {
    const { address, tls, isTlsOptional, database } = this.settings;
    if (tls === undefined) return false;
    if (!offersTls(greeting)) {
      if (isTlsOptional) return false;
      throw this.fail(new Error("the server offers no TLS"));
    }
    this.send(tlsRequest(database, greeting), false);
    const plain = this.socket;
    for (const event of ["data", "error", "close"]) plain.removeAllListeners(event);
    const servername = "host" in address && isIP(address.host) === 0 ? { servername: address.host } : {};
    const host = "host" in address ? { host: address.host } : {};
    const secure = connectTls({ socket: plain, ...host, ...servername, ...tls });
    this.socket = secure;
    plain.on("error", (error) => this.fail(error));
    await new Promise<void>((resolve, reject) => {
      this.onFailure = reject;
      secure.once("secureConnect", resolve);
      this.listen();
    });
    return true;
  }

  private listen(): void {
    const { socket } = this;
    socket.on("error", (error) => this.fail(error));
    socket.on("close", () => this.fail(new Error("the server closed the connection")));
    socket.on("data", (chunk) => {
      try {
        this.reader.push(chunk);
      } catch (error) {
        this.fail(error as Error);
      }
    });
    // An idle connection must not keep the process alive.
    socket.unref();
  }

  private newReader(maxBytes: number, sequence = 0): PacketReader {
    const reader = new PacketReader(maxBytes, (payload) => this.onPacket(payload));
    reader.sequence = sequence;
    return reader;
  }

  /** Sends a payload, and gives the packets that follow to `take` until it returns a value. */
  private exchange<T>(
    payload: Buffer | undefined,
    isNew: boolean,
    take: (payload: Buffer) => T | undefined,
  ): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.failure !== undefined) return reject(this.failure);
      this.onFailure = reject;
      const unasked = this.onPacket;
      this.onPacket = (received) => {
        try {
          const value = take(received);
          if (value === undefined) return;
          this.onPacket = unasked;
          resolve(value);
        } catch (error) {
          this.onPacket = unasked;
          if (error instanceof MysqlServerError && payload !== undefined && payload[0] === COM_QUERY) reject(error);
          else reject(this.fail(error as Error));
        }
      };
      if (payload !== undefined) this.send(payload, isNew);
    });
  }

  /** A command begins a new count of packets. Its answers continue this count. */
  private send(payload: Buffer, isNew: boolean): void {
    const { bytes, next } = packetsOf(payload, isNew ? 0 : this.reader.sequence);
    this.reader.sequence = next;
    this.socket.write(bytes);
  }

  private fail(error: Error, isPolite = false): Error {
    if (this.failure !== undefined) return this.failure;
    this.failure = error;
    if (isPolite) this.socket.end();
    else this.socket.destroy();
    this.onFailure(error);
    return error;
  }

  private async abortable<T>(abort: AbortSignal, work: Promise<T>): Promise<T> {
    const onAbort = () => this.fail(new Error("it took too long"));
    abort.addEventListener("abort", onAbort, { once: true });
    if (abort.aborted) onAbort();
    try {
      return await work;
    } finally {
      abort.removeEventListener("abort", onAbort);
    }
  }
}

/** The server's questions about who the client is, until it lets it in. */
class Authentication {
  private readonly credentials: MysqlCredentials;
  private readonly isPrivate: boolean;
  private nonce: Buffer;
  private rounds = 0;
  plugin: string;

  constructor(credentials: MysqlCredentials, plugin: string, nonce: Buffer, isPrivate: boolean) {
    this.credentials = credentials;
    this.plugin = plugin;
    this.nonce = nonce;
    this.isPrivate = isPrivate;
  }

  /** The server names its default plugin; if that is unknown here, the user may still have another. */
  firstAnswer(): Buffer {
    try {
      return authAnswer(this.plugin, this.credentials, this.nonce, this.isPrivate);
    } catch {
      this.plugin = "caching_sha2_password";
      return authAnswer(this.plugin, this.credentials, this.nonce, this.isPrivate);
    }
  }

  /** Returns true when the client is let in, or what to answer, if anything. */
  take(payload: Buffer): Buffer | true | undefined {
    if (isServerError(payload)) throw readServerError(payload);
    this.rounds += 1;
    if (this.rounds > MAX_AUTH_ROUNDS) throw new MysqlProtocolError("the server's authentication does not end");
    const { credentials, isPrivate } = this;
    if (payload[0] === 0) return true;
    if (payload[0] === 1) return moreAuth(this.plugin, credentials, this.nonce, isPrivate, payload.subarray(1));
    if (payload[0] !== 0xfe) throw new MysqlProtocolError("the server's authentication is malformed");
    if (payload.length === 1) throw new Error("the server requires a password in the format of MySQL before 4.1");
    const fields = new PayloadReader(payload, 1);
    this.plugin = fields.terminated();
    const nonce = fields.rest();
    this.nonce = nonce.at(-1) === 0 ? nonce.subarray(0, -1) : nonce;
    return authAnswer(this.plugin, credentials, this.nonce, isPrivate);
  }
}
