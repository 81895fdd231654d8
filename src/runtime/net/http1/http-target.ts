import { isIP } from "node:net";
import type { AuthHeaders } from "#contract";
import type { HttpClientConfig } from "../http-client-keys.js";
import { type HttpProxy, proxyFromEnvironment, proxyOfUrl } from "../proxy/proxy.js";
import { type RequestHead, requestHead } from "./request-head.js";

/** Where requests go, taken apart once. */
export interface HttpTarget {
  /** Without credentials: it is shown in errors. */
  readonly url: string;
  /** Scheme, host and port. */
  readonly origin: string;
  readonly isSecure: boolean;
  /** An IPv6 address has no brackets. */
  readonly host: string;
  readonly port: number;
  readonly proxy: HttpProxy | undefined;
  readonly head: RequestHead;
  /** What the head is made of, for those who change its headers: the URL that is asked for, without credentials. */
  readonly requestUrl: URL;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly headWith: (headers: AuthHeaders) => RequestHead;
}

/** The name of the server that a configured Host header means, which its certificate must have; undefined when there is none. */
export function hostHeaderName({ headers }: Pick<HttpClientConfig, "headers">): string | undefined {
  const [, host] = Object.entries(headers ?? {}).find(([name]) => name.toLowerCase() === "host") ?? [];
  const name = host?.replace(/:\d+$/, "");
  return name === undefined || name === "" || name.startsWith("[") || isIP(name) ? undefined : name;
}

/** What `httpTarget` asks of the keys of an HTTP client. */
type TargetConfig = Pick<HttpClientConfig, "headers" | "proxy_url" | "disable_keep_alives">;

/** `own` are headers of the protocol, over which those of the config count. */
export function httpTarget(url: URL, config: TargetConfig, own: Readonly<Record<string, string>>): HttpTarget {
  const isSecure = url.protocol === "https:";
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const port = Number(url.port || (isSecure ? 443 : 80));
  const proxy = config.proxy_url ? proxyOfUrl(config.proxy_url) : proxyFromEnvironment(isSecure, host, port);
  // A proxy that hands plain requests on is told the whole URL.
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
    head: requestHead("POST", target, headers),
    requestUrl: withoutCredentials(url),
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    headWith: (more) => requestHead("POST", target, mergeHeaders(headers, more)),
  };
}

function withoutCredentials(url: URL): URL {
  const bare = new URL(url);
  bare.username = "";
  bare.password = "";
  return bare;
}

/** Names in any case; what is undefined is taken away. */
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
