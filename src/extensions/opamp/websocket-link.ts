import type { AuthHeaders, ClientAuthenticator } from "#contract";
import {
  httpTarget,
  loadClientTls,
  openWebSocket,
  renewClientTls,
  type TlsClientOptions,
  type WebSocketConnection,
} from "#net";
import { clientAuthenticator, sendAuthorized } from "#net/auth";
import type { ExtensionContext } from "../../plugin.js";
import type { LinkConfig } from "./config.js";
import { type LinkConnection, type LinkHandlers, type ServerLink, startedAt, warnIfOpen } from "./link.js";

/** Headers that only the first hop may see: `openWebSocket` sets its own, and a tunnel gives the proxy its credentials. */
const HOP_HEADERS: ReadonlySet<string> = new Set(["connection", "proxy-authorization"]);
const EMPTY = Buffer.alloc(0);
/** Every message begins with a header, a varint that is 0 in this version of the protocol. */
const HEADER = 0;

/** Reaches the server over a WebSocket. */
export class WebSocketLink implements ServerLink {
  private readonly config: LinkConfig;
  private readonly maxMessageBytes: number;
  private readonly context: ExtensionContext;
  private readonly target: ReturnType<typeof httpTarget>;
  private tls: TlsClientOptions = { rejectUnauthorized: true };
  private authenticator: ClientAuthenticator | undefined;

  constructor(config: LinkConfig, maxMessageBytes: number, context: ExtensionContext) {
    this.config = config;
    this.maxMessageBytes = maxMessageBytes;
    this.context = context;
    this.target = httpTarget(
      config.endpoint,
      { headers: config.headers, proxy_url: undefined, disable_keep_alives: false },
      {},
    );
  }

  async start(): Promise<void> {
    const { tls, auth, endpoint } = this.config;
    warnIfOpen(endpoint, this.context);
    await startedAt(["server", "ws"], async () => {
      this.authenticator = clientAuthenticator(auth, this.context);
      if (tls !== undefined) this.tls = await loadClientTls(tls, ["tls"]);
    });
  }

  async connect(handlers: LinkHandlers, abort: AbortSignal): Promise<LinkConnection> {
    const { authenticator, target } = this;
    const open = (more: AuthHeaders) => this.open(more, handlers, abort);
    const request = { method: "GET", url: target.requestUrl, headers: target.headers, body: EMPTY };
    try {
      const connection = await (authenticator === undefined
        ? open({})
        : sendAuthorized(authenticator, request, target.url, abort, open));
      return new WebSocketLinkConnection(connection);
    } catch (error) {
      // The certificates may have been renewed since they were read.
      if (this.config.tls !== undefined) await renewClientTls(this.tls, this.config.tls);
      throw error;
    }
  }

  stop(): void {}

  private open(more: AuthHeaders, handlers: LinkHandlers, signal: AbortSignal): Promise<WebSocketConnection> {
    const { target, tls, maxMessageBytes } = this;
    const all = Object.entries({ ...target.headers, ...more });
    const headers = Object.fromEntries(
      all.filter((header): header is [string, string] => header[1] !== undefined && !HOP_HEADERS.has(header[0])),
    );
    const request = { url: target.requestUrl, headers, tls, proxy: target.proxy, signal };
    return openWebSocket(
      request,
      { maxMessageBytes, clock: this.context.clock },
      {
        onMessage: (message) => handlers.onMessage(withoutHeader(message)),
        onEnd: (reason) => handlers.onEnd(reason),
      },
    );
  }
}

class WebSocketLinkConnection implements LinkConnection {
  readonly isBusy = false;
  private readonly connection: WebSocketConnection;

  constructor(connection: WebSocketConnection) {
    this.connection = connection;
  }

  send(message: Buffer): void {
    this.connection.send(Buffer.concat([Buffer.of(HEADER), message]));
  }

  close(last: Buffer): Promise<void> {
    this.send(last);
    return this.connection.close();
  }

  destroy(reason: string): void {
    this.connection.destroy(reason);
  }
}

/** Old servers send no header. A protobuf message never begins with 0, so both can be told apart. */
function withoutHeader(message: Buffer): Buffer {
  return message[0] === HEADER ? message.subarray(1) : message;
}
