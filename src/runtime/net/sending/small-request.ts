import type { Clock } from "#contract";
import { withTimeout } from "#resilience";
import { Http1Client } from "../http1/client.js";
import { requestHead } from "../http1/request-writer.js";
import { refusalOfConnection } from "../otlp/refusals.js";
import { proxyFromEnvironment } from "../proxy/proxy.js";
import type { TlsClientOptions } from "../tls-load.js";

/** A request with a short response. */
interface SmallRequest {
  readonly method: "GET" | "POST" | "PUT";
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly timeoutMs: number;
  /** Bypasses proxies, whatever the environment says: for services on this machine. */
  readonly isDirect?: boolean;
  readonly tls?: TlsClientOptions;
  readonly clock: Clock;
  /** Rejects at once when it fires. */
  readonly abort?: AbortSignal;
}

/** The response to a request. */
export interface SmallAnswer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
  /** The response's JSON object, or an empty one. */
  readonly json: Readonly<Record<string, unknown>>;
}

const MAX_ANSWER_BYTES = 256 * 1024;

/**
 * Sends one request on its own connection, without following redirects. Rejects with a transient `Refusal` when there
 * is no response.
 */
export async function sendSmallRequest(request: SmallRequest): Promise<SmallAnswer> {
  const { method, url, headers, body = "", timeoutMs, clock } = request;
  const isSecure = url.protocol === "https:";
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const port = Number(url.port || (isSecure ? 443 : 80));
  const proxy = request.isDirect ? undefined : proxyFromEnvironment(isSecure, host, port);
  const target = `${proxy !== undefined && !isSecure ? url.origin : ""}${url.pathname}${url.search}`;
  const own = { Host: url.host, Connection: "close", "User-Agent": "sluice", Accept: "application/json" };
  const toProxy = proxy?.authorization && !isSecure ? { "Proxy-Authorization": proxy.authorization } : {};
  const settings = { clock, maxConnections: 1, maxIdle: 0, idleTimeoutMs: 1000, maxAnswerBytes: MAX_ANSWER_BYTES };
  const tls = request.tls ?? { rejectUnauthorized: true };
  const client = new Http1Client({ host, port, proxy, ...(isSecure && { tls }) }, settings);
  const followed = request.abort === undefined ? [] : [request.abort];
  try {
    const head = requestHead(method, target, { ...own, ...toProxy, ...headers });
    const answer = await withTimeout(timeoutMs, clock, followed, (signal) =>
      client.request(head, [Buffer.from(body)], signal),
    );
    const text = answer.body.toString("utf8");
    return { status: answer.status, headers: answer.headers, text, json: parseObject(text) };
  } catch (error) {
    throw refusalOfConnection(`${url.origin}${url.pathname}`, (error as Error).cause ?? error);
  } finally {
    client.close();
  }
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
