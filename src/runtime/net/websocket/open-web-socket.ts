import { createHash, randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { isRefusal, Refusal } from "#contract/errors";
import { openRequest, type StreamedRequest } from "../http-request.js";
import { parseRetryAfter, refusalOfConnection, refusalOfHttp } from "../otlp/refusals.js";
import { WebSocketConnection, type WebSocketHandlers, type WebSocketSettings } from "./connection.js";

/** A request to open a WebSocket. The URL's scheme is http or https. Aborting it ends the open connection too. */
type WebSocketRequest = Pick<StreamedRequest, "url" | "headers" | "tls" | "proxy" | "signal">;

const HANDSHAKE_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/**
 * Opens a WebSocket (RFC 6455, section 4), through a tunnel if there is a proxy. Offers no extension and no subprotocol.
 * Rejects with a `Refusal` if the server does not agree; it carries the HTTP status and Retry-After.
 */
export async function openWebSocket(
  request: WebSocketRequest,
  settings: WebSocketSettings,
  handlers: WebSocketHandlers,
): Promise<WebSocketConnection> {
  const peer = `${request.url.origin}${request.url.pathname}`;
  const key = randomBytes(16).toString("base64");
  try {
    const { response, socket, head } = await upgrade(request, key, settings);
    try {
      checkAnswer(response, key, peer);
    } catch (error) {
      socket.destroy();
      throw error;
    }
    return new WebSocketConnection(socket, head, settings, handlers);
  } catch (error) {
    throw isRefusal(error) ? error : refusalOfConnection(peer, error);
  }
}

interface Upgraded {
  readonly response: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

function upgrade(request: WebSocketRequest, key: string, { clock }: WebSocketSettings): Promise<Upgraded> {
  const headers = {
    ...request.headers,
    Connection: "Upgrade",
    Upgrade: "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": key,
  };
  return new Promise((resolve, reject) => {
    const opened = openRequest({ ...request, headers, isTunnelled: true });
    opened.on("upgrade", (response, socket, head) => resolve({ response, socket, head }));
    opened.on("response", (response) => {
      const retryAfterMs = parseRetryAfter(response.headers["retry-after"], clock.now());
      reject(refusalOfHttp(response.statusCode ?? 0, "the server did not open a WebSocket", retryAfterMs));
      response.destroy();
    });
    opened.on("error", reject);
    opened.end();
  });
}

function checkAnswer({ headers }: IncomingMessage, key: string, peer: string): void {
  const expected = createHash("sha1").update(`${key}${HANDSHAKE_GUID}`).digest("base64");
  const refuse = (why: string) => new Refusal("transient", `${peer}: ${why}`, { blame: "backend" });
  if (headers.upgrade?.toLowerCase() !== "websocket") throw refuse("switched to another protocol than WebSocket");
  if (headers["sec-websocket-accept"] !== expected) throw refuse("the answer to the WebSocket handshake is wrong");
  if (headers["sec-websocket-extensions"] || headers["sec-websocket-protocol"])
    throw refuse("chose a WebSocket extension or subprotocol that was not offered");
}
