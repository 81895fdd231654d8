import { constants, createHash, generateKeyPairSync, privateDecrypt, randomBytes } from "node:crypto";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { TLSSocket, type TlsOptions } from "node:tls";

/** A column by its name and the protocol's number of its type: 3 is an integer, 5 a double, 12 a time, 253 a text. */
export interface AnswerColumn {
  readonly name: string;
  readonly type?: number;
}

/** The answer to a statement: rows, an error, or payloads of packets as they are. Undefined: none, ever. */
export type StatementAnswer =
  | { readonly columns: readonly (string | AnswerColumn)[]; readonly rows: readonly (readonly unknown[])[] }
  | { readonly code: number; readonly state?: string; readonly error: string }
  | { readonly payloads: readonly Buffer[] }
  | { readonly bytes: Buffer }
  | undefined;

export interface ProtocolServerSettings {
  /** The statement, and the database that the client chose. */
  readonly answer: (statement: string, database: string) => StatementAnswer;
  readonly version?: string;
  /** The plugin of the user; the server's own is always mysql_native_password. */
  readonly plugin?: string;
  readonly password?: string;
  /** Whether caching_sha2_password knows the user's hash already. */
  readonly isCached?: boolean;
  readonly tls?: TlsOptions;
  /** In place of the greeting. */
  readonly greeting?: Buffer;
}

export interface ProtocolServer {
  readonly port: number;
  /** Statements in their order. */
  readonly statements: string[];
  /** How many clients have connected. */
  connections: number;
  /** Whether the last client was let in over TLS. */
  wasSecure: boolean;
  close(): void;
}

/** The server's side of MySQL's protocol, for answers that a real server does not give. */
export async function startProtocolServer(settings: ProtocolServerSettings): Promise<ProtocolServer> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    running.connections += 1;
    socket.on("close", () => sockets.delete(socket));
    new Session(settings, running, socket).start();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const running: ProtocolServer = {
    port: (server.address() as AddressInfo).port,
    statements: [],
    connections: 0,
    wasSecure: false,
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
  return running;
}

const NATIVE = "mysql_native_password";
const TLS_BIT = 0x800;
const CAPABILITIES = 0x8_0000 | 0x8000 | 0x200 | 0x2_0000 | 8 | 5;

class Session {
  private readonly settings: ProtocolServerSettings;
  private readonly server: ProtocolServer;
  private socket: Socket;
  private received: Buffer = Buffer.alloc(0);
  private sequence = 0;
  private database = "";
  private nonce = Buffer.from(randomBytes(20).map((byte) => (byte & 0x7f) | 1));
  private take: (payload: Buffer) => void = (payload) => this.takeAnswer(payload);

  constructor(settings: ProtocolServerSettings, server: ProtocolServer, socket: Socket) {
    this.settings = settings;
    this.server = server;
    this.socket = socket;
  }

  start(): void {
    this.listen();
    const { greeting } = this.settings;
    if (greeting === undefined) this.send(this.greeting());
    else this.socket.write(greeting);
  }

  private listen(): void {
    this.socket.on("error", () => {});
    this.socket.on("data", (chunk: Buffer) => {
      this.received = Buffer.concat([this.received, chunk]);
      while (this.received.length >= 4 && this.received.length >= 4 + this.received.readUIntLE(0, 3)) {
        const end = 4 + this.received.readUIntLE(0, 3);
        const payload = this.received.subarray(4, end);
        this.sequence = this.received[3]! + 1;
        this.received = this.received.subarray(end);
        this.take(payload);
      }
    });
  }

  private send(payload: Buffer): void {
    const header = Buffer.alloc(4);
    header.writeUIntLE(payload.length, 0, 3);
    header[3] = this.sequence++;
    this.socket.write(Buffer.concat([header, payload]));
  }

  private greeting(): Buffer {
    const { version = "8.4.0", tls } = this.settings;
    const capabilities = CAPABILITIES | (tls === undefined ? 0 : TLS_BIT);
    const fixed = Buffer.alloc(18);
    fixed.writeUInt16LE(capabilities & 0xffff, 0);
    fixed[2] = 45;
    fixed.writeUInt16LE(2, 3);
    fixed.writeUInt16LE(capabilities >>> 16, 5);
    fixed[7] = 21;
    const { nonce } = this;
    return Buffer.concat([
      Buffer.from(`\x0a${version}\0`),
      ...[Buffer.of(1, 0, 0, 0), nonce.subarray(0, 8), Buffer.of(0), fixed, nonce.subarray(8), Buffer.of(0)],
      Buffer.from(`${NATIVE}\0`),
    ]);
  }

  private takeAnswer(payload: Buffer): void {
    const capabilities = payload.readUInt32LE(0);
    if (payload.length === 32 && (capabilities & TLS_BIT) !== 0) return this.secure();
    this.server.wasSecure = this.socket instanceof TLSSocket;
    const userEnd = payload.indexOf(0, 32);
    const authEnd = userEnd + 2 + payload[userEnd + 1]!;
    if ((capabilities & 8) !== 0) this.database = payload.toString("utf8", authEnd, payload.indexOf(0, authEnd));
    const { plugin = NATIVE } = this.settings;
    if (plugin === NATIVE) return this.letIn(payload.subarray(userEnd + 2, authEnd).equals(this.nativeHash()));
    this.nonce = Buffer.from(this.nonce.map((byte) => byte ^ 3));
    this.take = (answer) => this.takeSwitched(plugin, answer);
    this.send(Buffer.concat([Buffer.of(0xfe), Buffer.from(`${plugin}\0`), this.nonce, Buffer.of(0)]));
  }

  private secure(): void {
    const plain = this.socket;
    plain.removeAllListeners("data").pause();
    if (this.received.length > 0) plain.unshift(this.received);
    this.received = Buffer.alloc(0);
    this.socket = new TLSSocket(plain, { isServer: true, ...this.settings.tls });
    this.listen();
  }

  private takeSwitched(plugin: string, answer: Buffer): void {
    const { password = "", isCached = false } = this.settings;
    const isRight = plugin !== "caching_sha2_password" || answer.equals(this.cachingHash());
    if (plugin === "caching_sha2_password" && isRight && !isCached) {
      this.take = (text) => this.takeFull(text);
      return this.send(Buffer.of(1, 4));
    }
    if (plugin === "caching_sha2_password" && isRight) this.send(Buffer.of(1, 3));
    this.letIn(isRight && (plugin === "caching_sha2_password" || answer.toString() === `${password}\0`));
  }

  private takeFull(text: Buffer): void {
    const { password = "" } = this.settings;
    if (text.length !== 1 || text[0] !== 2) return this.letIn(text.toString() === `${password}\0`);
    const { publicKey, privateKey } = keys();
    this.take = (sealed) => {
      const key = { key: privateKey, padding: constants.RSA_PKCS1_OAEP_PADDING };
      const open = privateDecrypt(key, sealed).map((byte, i) => byte ^ this.nonce[i % 20]!);
      this.letIn(Buffer.from(open).toString() === `${password}\0`);
    };
    this.send(Buffer.concat([Buffer.of(1), Buffer.from(publicKey)]));
  }

  private letIn(isRight: boolean): void {
    this.take = (payload) => this.takeCommand(payload);
    this.send(isRight ? OK : errorPayload(1045, "28000", "Access denied for user"));
  }

  private takeCommand(payload: Buffer): void {
    if (payload[0] === 1) return void this.socket.end();
    if (payload[0] === 0x0e) return this.send(OK);
    if (payload[0] !== 3) return this.send(errorPayload(1047, "08S01", "Unknown command"));
    const statement = payload.toString("utf8", 1);
    this.server.statements.push(statement);
    this.reply(this.settings.answer(statement, this.database));
  }

  private reply(answer: StatementAnswer): void {
    if (answer === undefined) return;
    if ("bytes" in answer) return void this.socket.write(answer.bytes);
    if ("error" in answer) return this.send(errorPayload(answer.code, answer.state ?? "HY000", answer.error));
    for (const payload of "payloads" in answer ? answer.payloads : resultPayloads(answer)) this.send(payload);
  }

  private nativeHash(): Buffer {
    const { password = "" } = this.settings;
    if (password === "") return Buffer.alloc(0);
    const once = sha("sha1", Buffer.from(password));
    const twice = sha("sha1", this.nonce, sha("sha1", once));
    return Buffer.from(once.map((byte, i) => byte ^ twice[i]!));
  }

  private cachingHash(): Buffer {
    const { password = "" } = this.settings;
    const once = sha("sha256", Buffer.from(password));
    const twice = sha("sha256", sha("sha256", once), this.nonce);
    return Buffer.from(once.map((byte, i) => byte ^ twice[i]!));
  }
}

let pair: { readonly publicKey: string; readonly privateKey: string } | undefined;

function keys() {
  pair ??= generateKeyPairSync("rsa", {
    modulusLength: 2048,
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  });
  return pair;
}

function sha(algorithm: string, ...parts: Buffer[]): Buffer {
  const hash = createHash(algorithm);
  for (const part of parts) hash.update(part);
  return hash.digest();
}

export const OK = Buffer.of(0, 0, 0, 2, 0, 0, 0);
export const END = Buffer.of(0xfe, 0, 0, 2, 0);

export function errorPayload(code: number, state: string, message: string): Buffer {
  return Buffer.concat([Buffer.of(0xff, code & 0xff, code >> 8), Buffer.from(`#${state}${message}`)]);
}

export function resultPayloads(answer: Extract<NonNullable<StatementAnswer>, { columns: unknown }>): Buffer[] {
  const { columns, rows } = answer;
  const defined = columns.map((column) => columnPayload(typeof column === "string" ? { name: column } : column));
  return [lengthOf(columns.length), ...defined, END, ...rows.map(rowPayload), END];
}

export function columnPayload({ name, type = 253 }: AnswerColumn): Buffer {
  const texts = ["def", "", "", "", name, name].map(lengthText);
  const fixed = Buffer.alloc(13);
  fixed[0] = 12;
  fixed[1] = 45;
  fixed[7] = type;
  return Buffer.concat([...texts, fixed]);
}

export function rowPayload(row: readonly unknown[]): Buffer {
  return Buffer.concat(row.map((value) => (value === null ? Buffer.of(0xfb) : lengthText(value))));
}

function lengthText(value: unknown): Buffer {
  const bytes = Buffer.isBuffer(value) ? value : Buffer.from(String(value));
  return Buffer.concat([lengthOf(bytes.length), bytes]);
}

export function lengthOf(length: number): Buffer {
  if (length < 0xfb) return Buffer.of(length);
  const long = Buffer.alloc(9);
  long[0] = 0xfe;
  long.writeBigUInt64LE(BigInt(length), 1);
  return length > 0xff_ff_ff ? long : Buffer.concat([Buffer.of(0xfd), long.subarray(1, 4)]);
}
