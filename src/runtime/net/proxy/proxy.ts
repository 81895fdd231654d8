import { BlockList, isIP } from "node:net";
import { httpUrl } from "../endpoint.js";

/** A proxy for requests. */
export interface HttpProxy {
  /** An IPv6 address has no brackets. */
  readonly host: string;
  readonly port: number;
  /** True when the connection to the proxy itself uses TLS. */
  readonly isSecure: boolean;
  /** Value of Proxy-Authorization, if the URL has credentials. */
  readonly authorization: string | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

let environment: Environment = {};

/**
 * Sets the variables HTTP_PROXY, HTTPS_PROXY and NO_PROXY that are used from now on. Only the program may call this,
 * because a library must not read the environment. Throws a RangeError for an invalid proxy.
 */
export function useProxyEnvironment(variables: Environment): void {
  environment = variables;
  for (const name of ["HTTP_PROXY", "HTTPS_PROXY"]) configured(name);
}

/** The proxy at a URL. */
export function proxyOfUrl(url: URL): HttpProxy {
  const isSecure = url.protocol === "https:";
  const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: Number(url.port || (isSecure ? 443 : 80)),
    isSecure,
    authorization: credentials === ":" ? undefined : `Basic ${Buffer.from(credentials).toString("base64")}`,
  };
}

/** The environment's proxy for an address, by Go's rules: there is none for this machine. */
export function proxyFromEnvironment(isSecure: boolean, host: string, port: number): HttpProxy | undefined {
  const proxy = configured(isSecure ? "HTTPS_PROXY" : "HTTP_PROXY");
  return proxy && !isExempt(host.toLowerCase().replace(/\.$/, ""), port) ? proxy : undefined;
}

function configured(name: string): HttpProxy | undefined {
  const text = variable(name);
  if (text === "") return undefined;
  const url = httpUrl().safeParse(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`);
  if (url.success) return proxyOfUrl(url.data);
  throw new RangeError(`${name}: expected the URL of an HTTP proxy, such as http://proxy:3128`);
}

function variable(name: string): string {
  return (environment[name] || environment[name.toLowerCase()] || "").trim();
}

function isExempt(host: string, port: number): boolean {
  if (host === "localhost" || LOOPBACK.check(host, familyOf(host))) return true;
  return variable("NO_PROXY")
    .toLowerCase()
    .split(",")
    .map((text) => text.trim())
    .some((rule) => rule !== "" && matches(rule, host, port));
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8, "ipv4");
LOOPBACK.addAddress("::1", "ipv6");

/**
 * A rule is `*`, an address, a network such as 10.0.0.0/8, or a domain with its subdomains; an address or domain may
 * have a port.
 */
function matches(rule: string, host: string, port: number): boolean {
  if (rule === "*") return true;
  const network = /^([0-9a-f.:]+)\/(\d{1,3})$/.exec(rule);
  if (network) return isWithin(host, network[1]!, Number(network[2]));
  const [, bracketed, plain, wantedPort] = /^(?:\[(.+)\]|([^:]+))(?::(\d+))?$/.exec(rule) ?? [];
  const name = bracketed ?? plain ?? rule;
  if (wantedPort !== undefined && Number(wantedPort) !== port) return false;
  if (isIP(name)) return isIP(host) !== 0 && isWithin(host, name, isIP(name) === 4 ? 32 : 128);
  const domain = name.replace(/^\*(?=\.)/, "");
  return domain.startsWith(".") ? host.endsWith(domain) : host === domain || host.endsWith(`.${domain}`);
}

function isWithin(host: string, network: string, bits: number): boolean {
  if (isIP(host) === 0 || isIP(network) === 0 || bits > (isIP(network) === 4 ? 32 : 128)) return false;
  const list = new BlockList();
  list.addSubnet(network, bits, familyOf(network));
  return list.check(host, familyOf(host));
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return address.includes(":") ? "ipv6" : "ipv4";
}
