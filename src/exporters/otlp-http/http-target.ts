import { isIP } from "node:net";
import { SIGNALS, type Signal } from "../../plugin.js";
import {
  type AuthHeaders,
  contentTypeOf,
  type HttpProxy,
  OTLP_SERVICES,
  proxyFromEnvironment,
  proxyOfUrl,
  type RequestHead,
  requestHead,
} from "../../runtime/kit.js";
import type { OtlpHttpConfig } from "./config.js";

/** Where a signal's requests go, taken apart once. */
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

/** The targets of the signals that have one. */
export function httpTargets(config: OtlpHttpConfig): ReadonlyMap<Signal, HttpTarget> {
  const targets = new Map<Signal, HttpTarget>();
  for (const signal of SIGNALS) {
    const url = urlOf(config, signal);
    if (url !== undefined) targets.set(signal, createTarget(url, config));
  }
  return targets;
}

export function hasTarget(config: OtlpHttpConfig, signal: Signal): boolean {
  return urlOf(config, signal) !== undefined;
}

/** The name of the server that a configured Host header means, which its certificate must have; undefined when there is none. */
export function hostHeaderName({ headers }: OtlpHttpConfig): string | undefined {
  const [, host] = Object.entries(headers ?? {}).find(([name]) => name.toLowerCase() === "host") ?? [];
  const name = host?.replace(/:\d+$/, "");
  return name === undefined || name === "" || name.startsWith("[") || isIP(name) ? undefined : name;
}

/** The signal's own endpoint, or the common one with the signal's path behind it; undefined when there is neither. */
function urlOf(config: OtlpHttpConfig, signal: Signal): URL | undefined {
  const signalEndpoint = config[`${signal}_endpoint`];
  if (signalEndpoint ?? !config.endpoint) return signalEndpoint;
  const url = new URL(config.endpoint);
  url.pathname = url.pathname.replace(/\/$/, "") + OTLP_SERVICES[signal].httpPath;
  return url;
}

function createTarget(url: URL, config: OtlpHttpConfig): HttpTarget {
  const isSecure = url.protocol === "https:";
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const port = Number(url.port || (isSecure ? 443 : 80));
  const proxy = config.proxy_url ? proxyOfUrl(config.proxy_url) : proxyFromEnvironment(isSecure, host, port);
  // A proxy that hands plain requests on is told the whole URL.
  const isWhole = proxy !== undefined && !isSecure;
  const target = `${isWhole ? `http://${url.host}` : ""}${url.pathname}${url.search}`;
  const headers = headersOf(url, config, isWhole ? proxy : undefined);
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

function headersOf(url: URL, config: OtlpHttpConfig, proxy: HttpProxy | undefined): Record<string, string> {
  return {
    Host: url.host,
    Connection: config.disable_keep_alives ? "close" : "keep-alive",
    "Content-Type": contentTypeOf(config.encoding),
    "User-Agent": "sluice",
    ...(config.compression !== "none" && { "Content-Encoding": config.compression }),
    ...((url.username || url.password) && { Authorization: basicAuth(url) }),
    ...(proxy?.authorization && { "Proxy-Authorization": proxy.authorization }),
    ...config.headers,
  };
}

function basicAuth({ username, password }: URL): string {
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return `Basic ${Buffer.from(credentials).toString("base64")}`;
}
