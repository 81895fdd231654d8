import net from "node:net";

/**
 * One kept-alive HTTP/1.1 connection for prepared requests, one at a time. node:http would cost the generator as much
 * as the agent under test; this costs a few microseconds per request.
 *
 * The bytes of a request may be reused after `answered` was called: by then they have left the process.
 *
 * @typedef {{ status: number, retryAfter: boolean, last?: boolean }} Answer status 0: no answer, the connection broke;
 *   last: the server hangs up
 */
const HEAD_END = Buffer.from("\r\n\r\n");
const LAST_CHUNK = "\r\n0\r\n\r\n";
const NO_ANSWER = { status: 0, retryAfter: false };

export class HttpConnection {
  /**
   * `pieceBytes`: a request leaves in pieces of this size, a millisecond apart, so that the server reads each by itself.
   * @param {number} port @param {(answer: Answer) => void} answered @param {{ pieceBytes?: number | undefined }} [options]
   */
  constructor(port, answered, { pieceBytes = Number.POSITIVE_INFINITY } = {}) {
    this.port = port;
    this.pieceBytes = pieceBytes;
    this.answered = answered;
    /** @type {net.Socket | undefined} */
    this.socket = undefined;
    /** @type {Buffer | undefined} */
    this.received = undefined;
    /** @type {Answer | undefined} */
    this.answer = undefined;
    this.waiting = false;
    /** 1 while a request has not left the process. */
    this.unwritten = 0;
  }

  /** Resolves when connected; rejects when nothing listens. @returns {Promise<void>} */
  open() {
    return new Promise((resolve, reject) => {
      const socket = net.connect(this.port, "127.0.0.1");
      socket.setNoDelay(true);
      socket.once("connect", resolve);
      socket.once("error", reject);
      socket.on("data", (chunk) => this.read(chunk));
      socket.on("close", () => this.closed(socket));
      this.socket = socket;
    });
  }

  /** @param {Buffer} request head and body */
  send(request) {
    this.waiting = true;
    if (this.socket !== undefined && !this.socket.destroyed) this.write(request);
    else
      this.open().then(
        () => this.write(request),
        () => this.settle(NO_ANSWER),
      );
  }

  close() {
    this.waiting = false;
    this.socket?.destroy();
  }

  /** Closes the connection; the next request opens another one. */
  drop() {
    const { socket } = this;
    this.socket = undefined;
    socket?.destroy();
  }

  write(/** @type {Buffer} */ request) {
    const { socket } = this;
    if (request.length > this.pieceBytes) {
      socket?.write(request.subarray(0, this.pieceBytes));
      setTimeout(() => this.write(request.subarray(this.pieceBytes)), 1);
      return;
    }
    this.unwritten = 1;
    socket?.write(request, () => {
      if (socket !== this.socket) return;
      this.unwritten = 0;
      if (this.answer !== undefined) this.settle(this.answer);
    });
  }

  read(/** @type {Buffer} */ chunk) {
    const bytes = this.received === undefined ? chunk : Buffer.concat([this.received, chunk]);
    const answer = parse(bytes);
    this.received = answer === undefined ? bytes : undefined;
    if (answer === undefined || answer.status < 200) return;
    if (this.unwritten > 0 && !this.socket?.destroyed) this.answer = answer;
    else this.settle(answer);
  }

  closed(/** @type {net.Socket} */ socket) {
    if (socket !== this.socket) return;
    this.socket = undefined;
    this.received = undefined;
    this.unwritten = 0;
    if (this.waiting) this.settle(this.answer ?? NO_ANSWER);
  }

  settle(/** @type {Answer} */ answer) {
    if (!this.waiting) return;
    this.waiting = false;
    this.answer = undefined;
    if (answer.last) this.drop();
    this.answered(answer);
  }
}

/** The response, if it is complete. @param {Buffer} bytes @returns {Answer | undefined} */
function parse(bytes) {
  const end = bytes.indexOf(HEAD_END);
  if (end < 0) return undefined;
  const head = bytes.toString("latin1", 0, end).toLowerCase();
  if (!isWhole(bytes, end + HEAD_END.length, head)) return undefined;
  const last = head.includes("\r\nconnection: close");
  return { status: Number(head.slice(9, 12)), retryAfter: head.includes("\r\nretry-after:"), last };
}

/** Whether the body that begins at `start` is complete. */
function isWhole(/** @type {Buffer} */ bytes, /** @type {number} */ start, /** @type {string} */ head) {
  const length = /\r\ncontent-length: *(\d+)/.exec(head);
  if (length !== null) return bytes.length >= start + Number(length[1]);
  return !head.includes("\r\ntransfer-encoding: chunked") || bytes.toString("latin1", start - 2).endsWith(LAST_CHUNK);
}
