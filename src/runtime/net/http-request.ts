import type { Agent, ClientRequest, IncomingMessage, RequestOptions } from "node:http";
import type { Agent as SecureAgent } from "node:https";
import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import type { HttpProxy } from "./proxy/proxy.js";
import { Tunnel } from "./proxy/tunnel.js";
import type { TlsClientOptions } from "./tls-load.js";

/** A request whose response is streamed; the caller limits its size. */
export interface StreamedRequest {
  readonly method?: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: TlsClientOptions;
  readonly proxy: HttpProxy | undefined;
  /** Aborts the request, and the response while it is being read. */
  readonly signal: AbortSignal;
  /** Agents that keep connections; without them each request opens its own connection. */
  readonly agents?: { readonly plain: Agent; readonly secure: SecureAgent };
  /** Goes through a tunnel of the proxy also without TLS: most proxies forward no connection that is upgraded. */
  readonly isTunnelled?: boolean;
}

type OnConnection = (error: Error | null, socket?: Duplex) => void;

/** Opens a request, through the proxy if there is one. The caller attaches listeners, and ends it. */
export function openRequest(request: StreamedRequest): ClientRequest {
  const { method = "GET", url, headers, tls, proxy, signal, agents, isTunnelled } = request;
  const { isSecure, host, port } = addressOfUrl(url);
  const path = `${url.pathname}${url.search}`;
  const options = { method, host, port, path, headers: { Host: url.host, ...headers }, signal };
  if (proxy === undefined) {
    return isSecure
      ? process.getBuiltinModule("node:https").request({ ...options, ...tls, agent: agents?.secure ?? false })
      : process.getBuiltinModule("node:http").request({ ...options, agent: agents?.plain ?? false });
  }
  if (!isSecure && !proxy.isSecure && !isTunnelled) {
    // A forwarding proxy needs the whole URL.
    const credentials = proxy.authorization && { "Proxy-Authorization": proxy.authorization };
    const whole = { path: `http://${url.host}${path}`, headers: { ...options.headers, ...credentials } };
    return process
      .getBuiltinModule("node:http")
      .request({ ...options, ...whole, host: proxy.host, port: proxy.port, agent: agents?.plain ?? false });
  }
  // Node.js calls createConnection only if there is no agent, not even the one that `agent: false` creates.
  const createConnection = (_: unknown, created: OnConnection) =>
    openTunnel(proxy, host, port, isSecure ? tls : undefined, created);
  return process.getBuiltinModule("node:http").request({ ...options, createConnection } as RequestOptions);
}

/** The address in a URL; an IPv6 address has no brackets. */
export function addressOfUrl(url: URL): { readonly isSecure: boolean; readonly host: string; readonly port: number } {
  const isSecure = url.protocol === "https:";
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  return { isSecure, host, port: Number(url.port || (isSecure ? 443 : 80)) };
}

/** Nothing is written over TLS before the certificate has been verified. */
function openTunnel(
  proxy: HttpProxy,
  host: string,
  port: number,
  tls: TlsClientOptions | undefined,
  created: OnConnection,
): void {
  const tunnel = new Tunnel(proxy, host, port);
  if (tls === undefined) return created(null, tunnel);
  const servername = tls.servername ?? (isIP(host) ? "" : host);
  const socket = process.getBuiltinModule("node:tls").connect({ host, ...tls, servername, socket: tunnel });
  tunnel.on("error", (error) => socket.destroy(error));
  socket.on("close", () => tunnel.destroy());
  socket.once("secureConnect", () => created(null, socket));
  // A broken tunnel may report its error twice.
  socket.on("error", (error) => created(error));
}

/** Reads a whole response. Rejects, and stops reading, when it is longer than `maxBytes` or breaks off. */
export async function readAnswer(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > maxBytes) throw new Error(`the answer is longer than ${maxBytes} bytes`);
  }
  if (!response.complete) throw new Error("the answer was cut off");
  return Buffer.concat(chunks);
}

/**
 * Parses a response as JSON. Throws when it has more than `max` objects and lists: an empty one takes two bytes in the
 * text and about thirty times as many in memory. Brackets in strings count too.
 */
export function parseAnswer(bytes: Buffer, max = Number.POSITIVE_INFINITY): unknown {
  if (bytes.length > max && countOpenings(bytes) > max)
    throw new Error(`the answer has more than ${max} objects and lists`);
  return JSON.parse(bytes.toString("utf8"));
}

function countOpenings(bytes: Buffer): number {
  let count = 0;
  for (let i = 0; i < bytes.length; i++) if ((bytes[i]! & 0xdf) === 0x5b) count++; // [ and {
  return count;
}
