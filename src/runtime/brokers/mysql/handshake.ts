import { MysqlProtocolError, PayloadReader } from "./packets.js";

/** The server's first packet. */
export interface MysqlGreeting {
  /** Such as `8.4.2` or `10.11.6-MariaDB`. */
  readonly version: string;
  readonly capabilities: number;
  readonly nonce: Buffer;
  readonly plugin: string;
}

/** Bits of the protocol's capabilities. */
const CAPABILITY = {
  longPassword: 1,
  longFlag: 4,
  withDatabase: 8,
  protocol41: 0x200,
  tls: 0x800,
  transactions: 0x2000,
  secureConnection: 0x8000,
  multiResults: 0x2_0000,
  pluginAuth: 0x8_0000,
  attributes: 0x10_0000,
} as const;

/** Always wanted. Not among them: local files, which a server could ask for. */
const WANTED =
  CAPABILITY.longPassword |
  CAPABILITY.longFlag |
  CAPABILITY.protocol41 |
  CAPABILITY.transactions |
  CAPABILITY.secureConnection |
  CAPABILITY.multiResults |
  CAPABILITY.pluginAuth;

/** The collation utf8mb4_general_ci, which every server knows: texts are UTF-8, whatever their columns are. */
const UTF8MB4 = 45;
const PROTOCOL = 10;
const MAX_PACKET_BYTES = 0x0100_0000;

/** Throws a `MysqlProtocolError` for what is no greeting. */
export function readGreeting(payload: Buffer): MysqlGreeting {
  const fields = new PayloadReader(payload);
  if (fields.uint(1) !== PROTOCOL) throw new MysqlProtocolError("the server does not speak MySQL's protocol");
  const version = fields.terminated().slice(0, 200);
  fields.take(4);
  const first = fields.take(8);
  fields.take(1);
  const low = fields.uint(2);
  if (fields.left < 13) throw new MysqlProtocolError("the server is older than MySQL 4.1");
  fields.take(3);
  const capabilities = (low | (fields.uint(2) << 16)) >>> 0;
  const nonceLength = fields.uint(1);
  fields.take(10);
  const second = fields.take(Math.min(fields.left, Math.max(13, nonceLength - 8)));
  const plugin = (capabilities & CAPABILITY.pluginAuth) === 0 ? "" : fields.terminated();
  const isOld = (capabilities & CAPABILITY.protocol41) === 0 || (capabilities & CAPABILITY.secureConnection) === 0;
  if (isOld) throw new MysqlProtocolError("the server is older than MySQL 4.1");
  return { version, capabilities, nonce: Buffer.concat([first, second.subarray(0, 12)]), plugin };
}

export function offersTls({ capabilities }: MysqlGreeting): boolean {
  return (capabilities & CAPABILITY.tls) !== 0;
}

interface HandshakeAnswer {
  readonly isTls: boolean;
  readonly username: string;
  /** Empty: none is chosen. */
  readonly database: string;
  readonly plugin: string;
  readonly auth: Buffer;
  /** The name by which the server lists the connection. */
  readonly program: string;
}

/** Asks for TLS: the beginning of the answer, which follows as a whole over TLS. */
export function tlsRequest(database: string, greeting: MysqlGreeting): Buffer {
  return answerHead(capabilitiesOf(true, database, greeting));
}

export function handshakeAnswer(answer: HandshakeAnswer, greeting: MysqlGreeting): Buffer {
  const { isTls, username, database, plugin, auth, program } = answer;
  const capabilities = capabilitiesOf(isTls, database, greeting);
  const parts = [answerHead(capabilities), Buffer.from(`${username}\0`), Buffer.of(auth.length), auth];
  if ((capabilities & CAPABILITY.withDatabase) !== 0) parts.push(Buffer.from(`${database}\0`));
  if ((capabilities & CAPABILITY.pluginAuth) !== 0) parts.push(Buffer.from(`${plugin}\0`));
  if ((capabilities & CAPABILITY.attributes) !== 0) {
    const attributes = Buffer.concat(["program_name", program].map(shortText));
    parts.push(Buffer.of(attributes.length), attributes);
  }
  return Buffer.concat(parts);
}

function capabilitiesOf(isTls: boolean, database: string, { capabilities }: MysqlGreeting): number {
  const offered = capabilities & (CAPABILITY.pluginAuth | CAPABILITY.attributes | CAPABILITY.multiResults);
  const chosen = (WANTED & ~(CAPABILITY.pluginAuth | CAPABILITY.multiResults)) | offered;
  return chosen | (isTls ? CAPABILITY.tls : 0) | (database === "" ? 0 : CAPABILITY.withDatabase);
}

function answerHead(capabilities: number): Buffer {
  const head = Buffer.alloc(32);
  head.writeUInt32LE(capabilities >>> 0, 0);
  head.writeUInt32LE(MAX_PACKET_BYTES, 4);
  head[8] = UTF8MB4;
  return head;
}

/** A text of at most 100 bytes with its length before it. */
function shortText(text: string): Buffer {
  const bytes = Buffer.from(text).subarray(0, 100);
  return Buffer.concat([Buffer.of(bytes.length), bytes]);
}
