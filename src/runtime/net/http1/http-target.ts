import { isIP } from "node:net";
import type { AuthHeaders } from "#contract";
import type { HttpClientConfig } from "../http-client-keys.js";
import { type HttpProxy, proxyFromEnvironment, proxyOfUrl } from "../proxy/proxy.js";
import { type RequestHead, requestHead } from "./request-writer.js";

/** The parsed target of requests. */
export interface HttpTarget {
  /** Without credentials, because it is shown in errors. */
  readonly url: string;
  /** Scheme, host and port. */
  readonly origin: string;
  readonly isSecure: boolean;
  /** An IPv6 address has no brackets. */
  readonly host: string;
  readonly port: number;
  readonly proxy: HttpProxy | undefined;
  readonly head: RequestHead;
  /** The requested URL without credentials, for those who change the headers of the head. */
  readonly requestUrl: URL;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly headWith: (headers: AuthHeaders) => RequestHead;
}

/** The server name in a configured Host header, which the certificate must match; undefined when there is none. */
export function hostHeaderName({ headers }: Pick<HttpClientConfig, "headers">): string | undefined {
  const [, host] = Object.entries(headers ?? {}).find(([name]) => name.toLowerCase() === "host") ?? [];
  const name = host?.replace(/:\d+$/, "");
  return name === undefined || name === "" || name.startsWith("[") || isIP(name) ? undefined : name;
}

/** The keys of an HTTP client that `httpTarget` uses. */
type TargetConfig = Pick<HttpClientConfig, "headers" | "proxy_url" | "disable_keep_alives">;

/** `own` are headers of the protocol; configured headers override them. */
export function httpTarget(
  url: URL,
  config: TargetConfig,
  own: Readonly<Record<string, string>>,
  method = "POST",
): HttpTarget {
  const isSecure = url.protocol === "https:";
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const port = Number(url.port || (isSecure ? 443 : 80));
  const proxy = config.proxy_url ? proxyOfUrl(config.proxy_url) : proxyFromEnvironment(isSecure, host, port);
  // A forwarding proxy needs the whole URL.
  const isWhole = proxy !== undefined && !isSecure;
  const target = `${isWhole ? `http://${url.host}` : ""}${url.pathname}${url.search}`;
  const headers = headersOf(url, config, own, isWhole ? proxy : undefined);
  return {
    url: `${url.protocol}//${url.host}${url.pathname}`,
    origin: `${url.protocol}//${url.host}`,
    isSecure,
    host,
    port,
    proxy,
    head: requestHead(method, target, headers),
    requestUrl: withoutCredentials(url),
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    headWith: (more) => requestHead(method, target, mergeHeaders(headers, more)),
  };
}

function withoutCredentials(url: URL): URL {
  const bare = new URL(url);
  bare.username = "";
  bare.password = "";
  return bare;
}

/** Names may have any case; an undefined value removes a header. */
function mergeHeaders(headers: Readonly<Record<string, string>>, more: AuthHeaders): Record<string, string> {
  const kept = Object.entries(headers).filter(([name]) => !Object.hasOwn(more, name.toLowerCase()));
  const added = Object.entries(more).filter((header): header is [string, string] => header[1] !== undefined);
  return Object.fromEntries([...kept, ...added]);
}

function headersOf(
  url: URL,
  config: TargetConfig,
  own: Readonly<Record<string, string>>,
  proxy: HttpProxy | undefined,
): Record<string, string> {
  return {
    Host: url.host,
    Connection: config.disable_keep_alives ? "close" : "keep-alive",
    "User-Agent": "sluice",
    ...own,
    ...((url.username || url.password) && { Authorization: basicAuth(url) }),
    ...(proxy?.authorization && { "Proxy-Authorization": proxy.authorization }),
    ...config.headers,
  };
}

function basicAuth({ username, password }: URL): string {
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return `Basic ${Buffer.from(credentials).toString("base64")}`;
}
