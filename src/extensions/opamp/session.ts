import type { Clock, Logger } from "../../plugin.js";
import { formatInstanceUid, UID_BYTES } from "./instance-uid.js";
import {
  decodeServerToAgent,
  encodeAgentToServer,
  type OfferedConfig,
  type ServerToAgent,
  STATUS_FIELDS,
  type StatusPart,
} from "./messages.js";

/** The services that the extension gives a session. */
interface SessionServices {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The status as it is now. */
  readonly report: (instanceUid: Uint8Array) => ReadonlyMap<StatusPart, Uint8Array>;
  readonly capabilities: number;
  readonly onRemoteConfig: (config: OfferedConfig) => void;
  /** Keeps an identity that the server has given. */
  readonly keepInstanceUid: (uid: Buffer) => void;
}

/** A server may ask for the whole status again, but a faulty one that always does must not cause an endless exchange. */
const FULL_STATE_INTERVAL_MS = 1000;
const MAX_ERROR_LENGTH = 300;
const PARTS = Object.keys(STATUS_FIELDS) as readonly StatusPart[];

/**
 * The state of the exchange with a server, whatever the transport: the identity, the sequence number, and which parts
 * of the status the server has. A message contains only the parts that have changed.
 */
export class Session {
  private readonly services: SessionServices;
  private instanceUid: Buffer;
  private sequenceNumber = 0;
  private current: ReadonlyMap<StatusPart, Uint8Array> = new Map();
  private readonly sent = new Map<StatusPart, Uint8Array>();
  private wantsFullState = false;
  private lastFullStateAt = Number.NEGATIVE_INFINITY;
  /** In milliseconds, if the server has asked for another one than the config's. */
  heartbeatMs: number | undefined;

  constructor(instanceUid: Buffer, services: SessionServices) {
    this.instanceUid = instanceUid;
    this.services = services;
  }

  get uid(): string {
    return formatInstanceUid(this.instanceUid);
  }

  /** Reads the status again. Returns whether the server should be told something. */
  refresh(): boolean {
    this.current = this.services.report(this.instanceUid);
    if (this.wantsFullState) {
      if (this.services.clock.monotonic() - this.lastFullStateAt < FULL_STATE_INTERVAL_MS) return false;
      this.wantsFullState = false;
      this.forget();
    }
    return PARTS.some((part) => this.hasChanged(part));
  }

  /** The next message is to contain the whole status: on a new connection, it is unknown what the server has. */
  forget(): void {
    this.sent.clear();
    this.lastFullStateAt = this.services.clock.monotonic();
  }

  /** The next message, with all parts that have changed. */
  next(): Buffer {
    const parts = new Map([...this.current].filter(([part]) => this.hasChanged(part)));
    for (const [part, bytes] of parts) this.sent.set(part, bytes);
    return this.encode(parts, false);
  }

  /** The last message of an agent that stops. */
  farewell(): Buffer {
    return this.encode(new Map(), true);
  }

  /**
   * Takes a message of the server. Returns it for what concerns the connection; undefined when it is no message of
   * OpAMP, or is meant for another agent.
   */
  receive(bytes: Uint8Array): ServerToAgent | undefined {
    const message = decodeServerToAgent(bytes);
    if (message === undefined) return undefined;
    const { error } = message;
    if (error !== undefined) {
      const said = error.message.slice(0, MAX_ERROR_LENGTH);
      this.services.logger.warn({ error: said }, "the OpAMP server could not accept a message");
      return message;
    }
    if (message.wantsFullState) this.wantsFullState = true;
    if (message.remoteConfig !== undefined) this.services.onRemoteConfig(message.remoteConfig);
    if (message.heartbeatMs !== undefined) this.heartbeatMs = message.heartbeatMs;
    if (message.newInstanceUid !== undefined) this.rename(message.newInstanceUid);
    return message;
  }

  private rename(uid: Uint8Array): void {
    const { logger, keepInstanceUid } = this.services;
    if (uid.length !== UID_BYTES) {
      logger.warn({ bytes: uid.length }, "the OpAMP server gave an instance uid that does not have 16 bytes");
      return;
    }
    if (this.instanceUid.equals(uid)) return;
    this.instanceUid = Buffer.from(uid);
    logger.info({ instance_uid: this.uid }, "the OpAMP server has given this agent another identity");
    keepInstanceUid(this.instanceUid);
    this.wantsFullState = true;
  }

  private hasChanged(part: StatusPart): boolean {
    const now = this.current.get(part);
    const before = this.sent.get(part);
    return now !== undefined && (before === undefined || Buffer.compare(now, before) !== 0);
  }

  private encode(parts: ReadonlyMap<StatusPart, Uint8Array>, isDisconnect: boolean): Buffer {
    const { instanceUid, services } = this;
    const { capabilities } = services;
    return encodeAgentToServer({
      instanceUid,
      sequenceNumber: this.sequenceNumber++,
      capabilities,
      parts,
      isDisconnect,
    });
  }
}
