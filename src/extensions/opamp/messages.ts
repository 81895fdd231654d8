import { bytesField, intField, readWholeFields, textField } from "#net/otlp";
import { FIXED64, LENGTH_DELIMITED, VARINT, type Value, WireWriter, writeKeyValue } from "#otlp/bytes";

/** The messages of OpAMP (opamp.proto) that an agent writes and reads, as protobuf. */

/** The bits of `AgentToServer.capabilities`. */
export const AGENT_CAPABILITIES = {
  reportsStatus: 0x1,
  acceptsRemoteConfig: 0x2,
  reportsEffectiveConfig: 0x4,
  reportsHealth: 0x800,
  reportsRemoteConfig: 0x1000,
  reportsHeartbeat: 0x2000,
} as const;

/** The parts of the agent's status, each an encoded message, by their field number. A server keeps the last of each. */
export const STATUS_FIELDS = { description: 3, health: 5, effectiveConfig: 6, remoteConfigStatus: 7 } as const;
export type StatusPart = keyof typeof STATUS_FIELDS;

/** The numbers of all other fields, by message. */
const AGENT_TO_SERVER = { instanceUid: 1, sequenceNumber: 2, capabilities: 4, disconnect: 9 } as const;
const DESCRIPTION = { identifying: 1, nonIdentifying: 2 } as const;
const HEALTH = { isHealthy: 1, startedAt: 2, lastError: 3, status: 4, statusAt: 5, components: 6 } as const;
const EFFECTIVE_CONFIG = { files: 1 } as const;
const CONFIG_MAP = { file: 1 } as const;
const CONFIG_FILE = { body: 1, contentType: 2 } as const;
const MAP_ENTRY = { key: 1, value: 2 } as const;
const REMOTE_STATUS = { hash: 1, status: 2, error: 3 } as const;
const SERVER_TO_AGENT = { error: 2, remoteConfig: 3, connections: 4, flags: 6, identification: 8 } as const;
const ERROR_RESPONSE = { type: 1, message: 2, retryInfo: 3 } as const;
const RETRY_INFO = { nanoseconds: 1 } as const;
const CONNECTION_OFFERS = { opamp: 2 } as const;
const OPAMP_CONNECTION = { heartbeatSeconds: 4 } as const;
const REMOTE_CONFIG = { files: 1, hash: 2 } as const;
const IDENTIFICATION = { newInstanceUid: 1 } as const;
/** A bit of the flags. */
const REPORT_FULL_STATE = 1;

interface AgentToServer {
  readonly instanceUid: Uint8Array;
  readonly sequenceNumber: number;
  readonly capabilities: number;
  readonly parts: ReadonlyMap<StatusPart, Uint8Array>;
  readonly isDisconnect: boolean;
}

export function encodeAgentToServer(message: AgentToServer): Buffer {
  return written((writer) => {
    bytes(writer, AGENT_TO_SERVER.instanceUid, message.instanceUid);
    number(writer, AGENT_TO_SERVER.sequenceNumber, message.sequenceNumber);
    for (const [part, encoded] of message.parts) bytes(writer, STATUS_FIELDS[part], encoded);
    number(writer, AGENT_TO_SERVER.capabilities, message.capabilities);
    if (message.isDisconnect) bytes(writer, AGENT_TO_SERVER.disconnect, new Uint8Array(0));
  });
}

export type DescriptionAttributes = Readonly<Record<string, Value>>;

export function encodeDescription(identifying: DescriptionAttributes, nonIdentifying: DescriptionAttributes): Buffer {
  return written((writer) => {
    attributes(writer, DESCRIPTION.identifying, identifying);
    attributes(writer, DESCRIPTION.nonIdentifying, nonIdentifying);
  });
}

/** The health of the agent or of one of its parts. Times are milliseconds since the epoch. */
export interface ComponentHealth {
  readonly isHealthy: boolean;
  readonly status: string;
  readonly lastError: string;
  readonly startedAt: number;
  readonly statusAt: number;
  readonly components: ReadonlyMap<string, ComponentHealth>;
}

export function encodeHealth(health: ComponentHealth): Buffer {
  return written((writer) => {
    if (health.isHealthy) number(writer, HEALTH.isHealthy, 1);
    time(writer, HEALTH.startedAt, health.startedAt);
    text(writer, HEALTH.lastError, health.lastError);
    text(writer, HEALTH.status, health.status);
    time(writer, HEALTH.statusAt, health.statusAt);
    for (const [name, component] of health.components)
      mapEntry(writer, HEALTH.components, name, encodeHealth(component));
  });
}

/** The whole config as one file without a name, as the Collector sends it. */
export function encodeEffectiveConfig(yaml: string): Buffer {
  const file = written((writer) => {
    text(writer, CONFIG_FILE.body, yaml);
    text(writer, CONFIG_FILE.contentType, "text/yaml");
  });
  const files = written((writer) => mapEntry(writer, CONFIG_MAP.file, "", file));
  return written((writer) => bytes(writer, EFFECTIVE_CONFIG.files, files));
}

/** The outcome of a remote config. */
export const REMOTE_CONFIG_STATUS = { applied: 1, applying: 2, failed: 3 } as const;

export function encodeRemoteConfigStatus(
  hash: Uint8Array,
  status: keyof typeof REMOTE_CONFIG_STATUS,
  error: string,
): Buffer {
  return written((writer) => {
    bytes(writer, REMOTE_STATUS.hash, hash);
    number(writer, REMOTE_STATUS.status, REMOTE_CONFIG_STATUS[status]);
    text(writer, REMOTE_STATUS.error, error);
  });
}

/** A file of a config that the server offers. */
export interface OfferedFile {
  readonly name: string;
  readonly body: Buffer;
  readonly contentType: string;
}

/** A config that the server offers. `files` is undefined when it cannot be read; `hash` is in hex. */
export interface OfferedConfig {
  readonly hash: string;
  readonly files: readonly OfferedFile[] | undefined;
}

/** A message of the server to the agent; fields that it left out are undefined, empty or 0. */
export interface ServerToAgent {
  readonly error:
    | { readonly isUnavailable: boolean; readonly message: string; readonly retryAfterMs: number | undefined }
    | undefined;
  readonly remoteConfig: OfferedConfig | undefined;
  readonly wantsFullState: boolean;
  readonly newInstanceUid: Uint8Array | undefined;
  /** In milliseconds; undefined if the server offers none. */
  readonly heartbeatMs: number | undefined;
}

/** Undefined when the bytes are no such message. */
export function decodeServerToAgent(message: Uint8Array): ServerToAgent | undefined {
  const fields = readWholeFields(message);
  if (fields === undefined) return undefined;
  const has = (number: number) => fields.some((field) => field.number === number);
  const identification = readWholeFields(bytesField(fields, SERVER_TO_AGENT.identification));
  const connections = readWholeFields(bytesField(fields, SERVER_TO_AGENT.connections));
  const opamp = connections && readWholeFields(bytesField(connections, CONNECTION_OFFERS.opamp));
  const newInstanceUid = identification && bytesField(identification, IDENTIFICATION.newInstanceUid);
  const heartbeatSeconds = opamp === undefined ? 0 : intField(opamp, OPAMP_CONNECTION.heartbeatSeconds);
  return {
    error: has(SERVER_TO_AGENT.error) ? decodeError(bytesField(fields, SERVER_TO_AGENT.error)) : undefined,
    remoteConfig: has(SERVER_TO_AGENT.remoteConfig)
      ? decodeRemoteConfig(bytesField(fields, SERVER_TO_AGENT.remoteConfig))
      : undefined,
    wantsFullState: (intField(fields, SERVER_TO_AGENT.flags) & REPORT_FULL_STATE) !== 0,
    newInstanceUid: newInstanceUid?.length ? newInstanceUid : undefined,
    heartbeatMs: heartbeatSeconds > 0 ? heartbeatSeconds * 1000 : undefined,
  };
}

function decodeRemoteConfig(message: Uint8Array): OfferedConfig {
  const fields = readWholeFields(message);
  const hash = Buffer.from(fields === undefined ? message.subarray(0, 32) : bytesField(fields, REMOTE_CONFIG.hash));
  return { hash: hash.toString("hex"), files: fields && decodeFiles(bytesField(fields, REMOTE_CONFIG.files)) };
}

function decodeFiles(message: Uint8Array): OfferedFile[] | undefined {
  const files: OfferedFile[] = [];
  for (const { number: field, value } of readWholeFields(message) ?? UNREADABLE) {
    if (field !== CONFIG_MAP.file) continue;
    const entry = value instanceof Uint8Array ? readWholeFields(value) : undefined;
    const file = entry && readWholeFields(bytesField(entry, MAP_ENTRY.value));
    if (entry === undefined || file === undefined) return undefined;
    const body = Buffer.from(bytesField(file, CONFIG_FILE.body));
    files.push({ name: textField(entry, MAP_ENTRY.key), body, contentType: textField(file, CONFIG_FILE.contentType) });
  }
  return files;
}

/** Reads as a file that cannot be read. */
const UNREADABLE = [{ number: CONFIG_MAP.file, value: 0n }];

const UNAVAILABLE = 2;

function decodeError(message: Uint8Array): ServerToAgent["error"] {
  const fields = readWholeFields(message) ?? [];
  const retryNanos = intField(
    readWholeFields(bytesField(fields, ERROR_RESPONSE.retryInfo)) ?? [],
    RETRY_INFO.nanoseconds,
  );
  return {
    isUnavailable: intField(fields, ERROR_RESPONSE.type) === UNAVAILABLE,
    message: textField(fields, ERROR_RESPONSE.message),
    retryAfterMs: retryNanos > 0 ? retryNanos / 1e6 : undefined,
  };
}

function written(write: (writer: WireWriter) => void): Buffer {
  const writer = new WireWriter();
  write(writer);
  return writer.bytes.subarray(0, writer.length);
}

function bytes(writer: WireWriter, field: number, value: Uint8Array): void {
  writer.varint((field << 3) | LENGTH_DELIMITED);
  writer.lengthDelimited(value);
}

function text(writer: WireWriter, field: number, value: string): void {
  if (value === "") return;
  writer.varint((field << 3) | LENGTH_DELIMITED);
  writer.text(value);
}

function number(writer: WireWriter, field: number, value: number): void {
  writer.varint((field << 3) | VARINT);
  writer.varintOfNumber(value);
}

function time(writer: WireWriter, field: number, ms: number): void {
  writer.varint((field << 3) | FIXED64);
  writer.fixed64(BigInt(Math.trunc(ms)) * 1_000_000n);
}

function mapEntry(writer: WireWriter, field: number, key: string, value: Uint8Array): void {
  writer.varint((field << 3) | LENGTH_DELIMITED);
  writer.begin();
  text(writer, MAP_ENTRY.key, key);
  bytes(writer, MAP_ENTRY.value, value);
  writer.end();
}

function attributes(writer: WireWriter, field: number, values: DescriptionAttributes): void {
  for (const [key, value] of Object.entries(values)) {
    writer.varint((field << 3) | LENGTH_DELIMITED);
    writer.begin();
    writeKeyValue(writer, key, value);
    writer.end();
  }
}
