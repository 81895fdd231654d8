import { randomFillSync } from "node:crypto";
import type { Duplex } from "node:stream";
import type { Clock } from "#contract";
import { connectionErrorMessage } from "../connection-error.js";
import { CLOSE, FrameReader, OPCODE, WebSocketError } from "./frame-reader.js";

/** The events that a connection reports to its owner. */
export interface WebSocketHandlers {
  onMessage(message: Buffer): void;
  /** Called once, when the connection is over, with the reason. Nothing is called after it. */
  onEnd(reason: string): void;
}

export interface WebSocketSettings {
  readonly maxMessageBytes: number;
  readonly clock: Clock;
}

/** A server gets this long to answer a close frame. */
const CLOSE_TIMEOUT_MS = 1000;
/** While this much waits to be written, pings stay unanswered: a server that sends but does not read costs no memory. */
const MAX_WAITING_BYTES = 64 * 1024;
const MAX_REASON_LENGTH = 200;

/** The client's side of a WebSocket connection for binary messages. It answers pings and close frames itself. */
export class WebSocketConnection {
  private readonly socket: Duplex;
  private readonly settings: WebSocketSettings;
  private readonly handlers: WebSocketHandlers;
  private readonly reader: FrameReader;
  private endReason: string | undefined;
  private hasSentClose = false;
  private cancelClose = () => {};

  /** `head` holds bytes that came with the answer to the handshake. Handlers are not called before this returns. */
  constructor(socket: Duplex, head: Buffer, settings: WebSocketSettings, handlers: WebSocketHandlers) {
    this.socket = socket;
    this.settings = settings;
    this.handlers = handlers;
    this.reader = new FrameReader(settings.maxMessageBytes, {
      onMessage: (message) => {
        if (this.endReason === undefined && !this.hasSentClose) handlers.onMessage(message);
      },
      onPing: (payload) => this.answerPing(payload),
      onClose: (code, reason) => this.closedByServer(code, reason),
    });
    if (head.length > 0) socket.unshift(head);
    socket.on("data", (chunk: Buffer) => this.read(chunk));
    socket.on("error", (error) => this.end(connectionErrorMessage(error)));
    socket.on("end", () => this.end("the server ended the connection"));
    socket.on("close", () => this.end("the connection closed"));
  }

  /** Sends one message in one frame. Does nothing when the connection is over. */
  send(message: Uint8Array): void {
    this.write(OPCODE.binary, message);
  }

  /** Sends a close frame and resolves when the connection is over, which a server cannot delay for long. */
  async close(): Promise<void> {
    if (this.endReason !== undefined) return;
    this.writeClose(CLOSE.normal);
    const closed = new Promise<void>((resolve) => this.socket.once("close", () => resolve()));
    this.cancelClose = this.settings.clock.after(CLOSE_TIMEOUT_MS, () => this.socket.destroy());
    await closed;
  }

  /** Ends the connection at once. */
  destroy(reason: string): void {
    this.end(reason);
  }

  private read(chunk: Buffer): void {
    if (this.endReason !== undefined) return;
    try {
      this.reader.read(chunk);
    } catch (error) {
      this.writeClose(error instanceof WebSocketError ? error.closeCode : CLOSE.protocol);
      this.end((error as Error).message);
    }
  }

  private answerPing(payload: Buffer): void {
    if (this.socket.writableLength < MAX_WAITING_BYTES) this.write(OPCODE.pong, payload);
  }

  private closedByServer(code: number, reason: string): void {
    this.writeClose(CLOSE.normal);
    const said = reason === "" ? "" : `: ${reason.slice(0, MAX_REASON_LENGTH)}`;
    this.end(`the server closed the connection with code ${code}${said}`);
  }

  private writeClose(code: number): void {
    if (this.hasSentClose) return;
    const payload = Buffer.alloc(2);
    payload.writeUInt16BE(code);
    this.write(OPCODE.close, payload);
    this.hasSentClose = true;
  }

  private write(opcode: number, payload: Uint8Array): void {
    if (this.endReason !== undefined || this.hasSentClose || !this.socket.writable) return;
    this.socket.write(maskedFrame(opcode, payload));
  }

  private end(reason: string): void {
    if (this.endReason !== undefined) return;
    this.endReason = reason;
    this.cancelClose();
    // Lets a close frame that was just written leave, and then closes without waiting for the server.
    this.socket.once(
      "close",
      this.settings.clock.after(CLOSE_TIMEOUT_MS, () => this.socket.destroy()),
    );
    this.socket.end(() => this.socket.destroy());
    this.handlers.onEnd(reason);
  }
}

/** One whole frame. Clients mask what they send, so that no proxy takes it for something else. */
export function maskedFrame(opcode: number, payload: Uint8Array): Buffer {
  const extra = payload.length < 126 ? 0 : payload.length < 0x10000 ? 2 : 8;
  const frame = Buffer.allocUnsafe(6 + extra + payload.length);
  frame[0] = 0x80 | opcode;
  frame[1] = 0x80 | (extra === 0 ? payload.length : extra === 2 ? 126 : 127);
  if (extra === 2) frame.writeUInt16BE(payload.length, 2);
  else if (extra === 8) frame.writeBigUInt64BE(BigInt(payload.length), 2);
  const at = 6 + extra;
  const mask = randomFillSync(frame.subarray(at - 4, at));
  for (let i = 0; i < payload.length; i++) frame[at + i] = payload[i]! ^ mask[i & 3]!;
  return frame;
}
