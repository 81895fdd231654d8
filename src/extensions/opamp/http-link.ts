import { decompress, SUPPORTED_ENCODINGS } from "#codecs/compression";
import { errorMessage } from "#contract/errors";
import { type Http1Answer, httpClientDefaults } from "#net";
import { parseRetryAfter, refusalOfHttp } from "#net/otlp";
import { HttpPoster, plainText } from "#net/sending";
import { withTimeout } from "#resilience";
import { type ExtensionContext, isRefusal, Refusal } from "../../plugin.js";
import type { LinkConfig } from "./config.js";
import { type LinkConnection, type LinkHandlers, type ServerLink, startedAt, warnIfOpen } from "./link.js";

const CONTENT_TYPE = "application/x-protobuf";
const HEADERS = { "Content-Type": CONTENT_TYPE, Accept: CONTENT_TYPE };
const ANSWER_TIMEOUT_MS = 30_000;
/** The last message of an agent that stops is not worth waiting for longer. */
const CLOSE_TIMEOUT_MS = 1000;

/** Reaches the server by POST requests, one at a time. The server's messages are in the answers. */
export class HttpLink implements ServerLink {
  private readonly poster: HttpPoster;
  private readonly context: ExtensionContext;
  private readonly maxMessageBytes: number;
  private readonly endpoint: URL;
  private readonly uid: () => string;

  constructor(config: LinkConfig, maxMessageBytes: number, context: ExtensionContext, uid: () => string) {
    const { endpoint, headers, tls, auth } = config;
    const client = { ...httpClientDefaults(), headers, tls, auth };
    this.poster = new HttpPoster(endpoint, client, HEADERS, context, { maxAnswerBytes: maxMessageBytes });
    this.context = context;
    this.maxMessageBytes = maxMessageBytes;
    this.endpoint = endpoint;
    this.uid = uid;
  }

  async start(): Promise<void> {
    warnIfOpen(this.endpoint, this.context);
    await startedAt(["server", "http"], () => this.poster.start());
  }

  async connect(handlers: LinkHandlers, abort: AbortSignal): Promise<LinkConnection> {
    const post = (message: Buffer, timeoutMs: number, end: AbortSignal) =>
      this.post(message, timeoutMs, AbortSignal.any([abort, end]));
    return new HttpLinkConnection(post, handlers);
  }

  stop(): void {
    this.poster.stop();
  }

  /** Resolves with the server's message. Rejects with a `Refusal`. */
  private async post(message: Buffer, timeoutMs: number, abort: AbortSignal): Promise<Buffer> {
    const headers = { "OpAMP-Instance-UID": this.uid() };
    return withTimeout(timeoutMs, this.context.clock, [abort], async (signal) => {
      const answer = await this.poster.post([message], signal, undefined, (got) => this.accept(got), headers);
      return this.decompressed(answer);
    });
  }

  private accept(answer: Http1Answer): Http1Answer {
    const { status, headers, body, bodyError } = answer;
    if (status !== 200)
      throw refusalOfHttp(
        status,
        plainText(body),
        parseRetryAfter(headers.get("retry-after"), this.context.clock.now()),
      );
    const type = headers.get("content-type") ?? "";
    if (!type.toLowerCase().startsWith(CONTENT_TYPE))
      throw new Refusal(
        "transient",
        `the server answered with ${type || "no content type"} instead of ${CONTENT_TYPE}`,
      );
    if (bodyError !== undefined) throw new Refusal("transient", `the answer is incomplete: ${bodyError.message}`);
    return answer;
  }

  /** Nothing compressed is asked for, but some servers and proxies compress anyway. */
  private async decompressed({ headers, body }: Http1Answer): Promise<Buffer> {
    const encoding = headers.get("content-encoding")?.toLowerCase() ?? "identity";
    if (encoding === "identity") return Buffer.from(body);
    if (!SUPPORTED_ENCODINGS.includes(encoding))
      throw new Refusal("transient", `the answer has the encoding ${encoding}`);
    try {
      return await decompress(encoding, Buffer.from(body), { limit: this.maxMessageBytes, reserve: () => true });
    } catch (error) {
      throw new Refusal("transient", `the answer cannot be decompressed: ${errorMessage(error)}`, { cause: error });
    }
  }
}

type Post = (message: Buffer, timeoutMs: number, end: AbortSignal) => Promise<Buffer>;

class HttpLinkConnection implements LinkConnection {
  private readonly post: Post;
  private readonly handlers: LinkHandlers;
  private readonly end = new AbortController();
  isBusy = false;
  private isOver = false;

  constructor(post: Post, handlers: LinkHandlers) {
    this.post = post;
    this.handlers = handlers;
  }

  send(message: Buffer): void {
    this.isBusy = true;
    this.post(message, ANSWER_TIMEOUT_MS, this.end.signal).then(
      (answer) => {
        this.isBusy = false;
        if (!this.isOver) this.handlers.onMessage(answer);
      },
      (error: unknown) => this.failed(error),
    );
  }

  async close(last: Buffer): Promise<void> {
    this.isOver = true;
    this.end.abort();
    await this.post(last, CLOSE_TIMEOUT_MS, new AbortController().signal).catch(() => {});
  }

  destroy(reason: string): void {
    if (this.isOver) return;
    this.isOver = true;
    this.end.abort();
    this.handlers.onEnd(reason);
  }

  private failed(error: unknown): void {
    if (this.isOver) return;
    this.isOver = true;
    this.handlers.onEnd(errorMessage(error), isRefusal(error) ? error.retryAfterMs : undefined);
  }
}
