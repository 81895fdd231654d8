import { isIPv6 } from "node:net";
import { z } from "zod";

/** A TCP address; without a host it means every interface. */
export interface HostPort {
  readonly host: string | undefined;
  readonly port: number;
  /** True when 0.0.0.0 must not include IPv6; otherwise it means every interface, as in Go. */
  readonly isIPv4Only?: boolean;
}

/** An address to listen on: TCP, or the path of a Unix socket. */
export type ListenAddress = HostPort | { readonly path: string };

const HOST = /^[A-Za-z0-9._-]+$/;

/**
 * Parses `127.0.0.1:4318`, `[::1]:4318`, `:4318` (every interface), `localhost:0`. Returns undefined for anything else.
 */
export function parseHostPort(text: string): HostPort | undefined {
  const match = /^(?:\[([^\]]*)\]|([^:]*)):(\d{1,5})$/.exec(text.trim());
  if (!match) return undefined;
  const [, v6, host, digits] = match;
  const port = Number(digits);
  if (port > 65535 || (v6 !== undefined && !isIPv6(v6)) || (host && !HOST.test(host))) return undefined;
  return { host: v6 || host || undefined, port };
}

/** The address as a string, with brackets around an IPv6 address. */
export function formatAddress(address: ListenAddress): string {
  if ("path" in address) return address.path;
  const host = address.host ?? "";
  return `${host.includes(":") && isIPv6(host) ? `[${host}]` : host}:${address.port}`;
}

const EXPECTED_LISTEN = "expected host:port such as 127.0.0.1:4318 or 0.0.0.0:4318";

/** Explains why an address is invalid; for a well-formed one the port is out of range. */
function addressProblem(text: string, expected: string): string {
  const port = /^(?:\w+:\/\/)?[^/]*:(\d+)(?:\/|$)/.exec(text)?.[1];
  return port !== undefined && Number(port) > 65535 ? `there is no port ${port}; expected at most 65535` : expected;
}

/** Schema of an endpoint to listen on. A scheme before it has no meaning here and is removed. */
export function listenEndpoint() {
  return z
    .string({ error: EXPECTED_LISTEN })
    .superRefine((text, context) => {
      if (text.startsWith("/") || parseHostPort(withoutScheme(text)) !== undefined) return;
      context.addIssue({ code: "custom", message: addressProblem(text, EXPECTED_LISTEN) });
    })
    .meta({ format: "host:port" });
}

/** Schema of a TCP address to listen on; `example` is shown in errors. */
export function hostPort(example: string) {
  return z
    .string()
    .superRefine((text, context) => {
      if (parseHostPort(text) !== undefined) return;
      context.addIssue({ code: "custom", message: addressProblem(text, `expected host:port, such as ${example}`) });
    })
    .meta({ format: "host:port" });
}

/** The address of a validated endpoint. */
export function listenAddress(endpoint: string, transport: string): ListenAddress {
  if (transport === "unix") return { path: endpoint };
  const address = parseHostPort(withoutScheme(endpoint));
  if (address === undefined) throw new RangeError(EXPECTED_LISTEN);
  if (transport === "tcp4") return { host: address.host ?? "0.0.0.0", port: address.port, isIPv4Only: true };
  return address;
}

function withoutScheme(text: string): string {
  return text.replace(/^https?:\/\//i, "").replace(/\/$/, "");
}

const EXPECTED_URL = "expected a URL such as http://localhost:4318";
const EXPECTED_CREDENTIALS = "expected a user and a password in which a literal % is written as %25";

/** Schema of an http(s) URL to send to; its output is a `URL`. */
export function httpUrl() {
  return z
    .string({ error: EXPECTED_URL })
    .transform((text, context) => {
      const url = URL.canParse(text) ? new URL(text) : undefined;
      const isHttp = url?.protocol === "http:" || url?.protocol === "https:";
      if (url && isHttp && isDecodable(url.username + url.password)) return url;
      const expected = isHttp ? EXPECTED_CREDENTIALS : EXPECTED_URL;
      context.addIssue({ code: "custom", message: addressProblem(text, expected) });
      return z.NEVER;
    })
    .meta({ format: "url" });
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** The target of a gRPC client. `secure` is undefined when the endpoint does not say. */
export interface GrpcTarget {
  readonly address: { readonly host: string; readonly port: number } | { readonly path: string };
  readonly secure: boolean | undefined;
}

/**
 * Parses `host:port`, with or without `http://`, `https://`, `dns:///` before it, or `unix:///path`. Returns undefined
 * for anything else.
 */
export function parseGrpcTarget(text: string): GrpcTarget | undefined {
  const unix = /^unix:(?:\/\/)?(\/.+)$/.exec(text);
  if (unix) return { address: { path: unix[1]! }, secure: undefined };
  const [, scheme = "", rest = ""] =
    /^(?:(https?):\/\/|(?:dns|passthrough):(?:\/\/[^/]*\/)?)?(.+?)\/?$/i.exec(text) ?? [];
  const secure = scheme === "" ? undefined : scheme.toLowerCase() === "https";
  const withPort = secure !== undefined && !/:\d+$/.test(rest) ? `${rest}:${secure ? 443 : 80}` : rest;
  const address = parseHostPort(withPort);
  if (!address || address.port === 0) return undefined;
  return { address: { host: address.host ?? "localhost", port: address.port }, secure };
}

const EXPECTED_TARGET = "expected host:port such as localhost:4317";

/** Schema of a gRPC endpoint to send to; its output is a `GrpcTarget`. */
export function grpcTarget() {
  return z
    .string({ error: EXPECTED_TARGET })
    .transform((text, context) => {
      const target = parseGrpcTarget(text.trim());
      if (target) return target;
      context.addIssue({ code: "custom", message: addressProblem(text.trim(), EXPECTED_TARGET) });
      return z.NEVER;
    })
    .meta({ format: "host:port" });
}

/** Whether a listener on this host is reachable only from this machine. */
export function isLoopbackHost(host: string | undefined): boolean {
  return host !== undefined && (host === "localhost" || host === "::1" || /^127\.[\d.]+$/.test(host));
}

/** How a listener is protected, by the keys of its config: required client certificates count as authentication. */
export function protectionOf({ tls, auth }: ProtectionKeys): { readonly tls: boolean; readonly auth: boolean } {
  return { tls: tls !== undefined, auth: auth !== undefined || tls?.client_ca_file !== undefined };
}

interface ProtectionKeys {
  readonly tls?: { readonly client_ca_file?: string | undefined } | undefined;
  readonly auth?: object | undefined;
}
