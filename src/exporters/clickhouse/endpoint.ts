/** The combined content of an endpoint and `connection_params`. */
export interface ClickhouseEndpoint {
  /** URLs of the HTTP interface of each server, with credentials and without a query. */
  readonly urls: readonly URL[];
  /** Empty if the endpoint names no database. */
  readonly database: string;
  /** Settings that are sent to the server with every request. */
  readonly settings: ReadonlyMap<string, string>;
  /** Undefined if not configured. */
  readonly compress: string | undefined;
  readonly skipVerify: boolean;
  /** Servers whose endpoint names the port of another protocol, as written. */
  readonly native: readonly string[];
}

const EXPECTED =
  "expected a URL such as http://clickhouse:8123, tcp://clickhouse:9000 or clickhouse://clickhouse:9000/otel";

const EXPECTED_PERCENT = "expected a URL in which every literal % is written as %25";

const HTTP_PORT = 8123;
const HTTPS_PORT = 8443;

/** Parameters that only configure the connections of the Collector's client. They are not sent to the server. */
const CLIENT_PARAMETERS: ReadonlySet<string> = new Set(
  `block_buffer_size client_info_product compress_level conn_max_lifetime connection_open_strategy debug dial_timeout
  http_proxy max_compression_buffer max_idle_conns max_open_conns read_timeout`.split(/\s+/),
);

/**
 * Parses an endpoint, or returns its problem. Several servers are separated by commas, and only the first must have a
 * scheme. The native protocol is not supported: a server that is written with it is reached through its HTTP interface
 * at the default port.
 */
export function parseEndpoint(text: string, more: Readonly<Record<string, string>>): ClickhouseEndpoint | string {
  const [, scheme = "", rest = ""] = /^(https?|tcp|clickhouse):\/\/(.+)$/i.exec(text.trim()) ?? [];
  if (scheme === "") return EXPECTED;
  const [hosts = "", query = ""] = rest.split(/\?(.*)/s);
  const params = new URLSearchParams(query);
  for (const [name, value] of Object.entries(more)) params.set(name, value);
  const isHttp = scheme.toLowerCase().startsWith("http");
  const isSecure = isHttp
    ? scheme.toLowerCase() === "https" || isTrue(params.get("secure"))
    : isTrue(params.get("secure"));
  const urls: URL[] = [];
  for (const host of hosts.split(",")) {
    const bare = host.trim().replace(/^\w+:\/\//, "");
    const url = URL.canParse(`http://${bare}`) ? new URL(`${isSecure ? "https" : "http"}://${bare}`) : undefined;
    if (url === undefined || url.hostname === "") return EXPECTED;
    if (!isDecodable(url.pathname + url.username + url.password)) return EXPECTED_PERCENT;
    urls.push(url);
  }
  return assemble(urls, params, isHttp, isSecure);
}

function assemble(urls: URL[], params: URLSearchParams, isHttp: boolean, isSecure: boolean): ClickhouseEndpoint {
  const [first] = urls as [URL];
  const last = urls.at(-1)!;
  const database = params.get("database") ?? decodeURIComponent(last.pathname.slice(1));
  const user = params.get("username") ?? decodeURIComponent(first.username);
  const password = params.get("password") ?? decodeURIComponent(first.password);
  const native = isHttp ? [] : urls.map(({ host }) => host);
  for (const url of urls) {
    if (!isHttp) url.port = String(isSecure ? HTTPS_PORT : HTTP_PORT);
    url.pathname = params.get("http_path") ?? "/";
    url.username = encodeURIComponent(user);
    url.password = encodeURIComponent(password);
  }
  const settings = new Map([...params].filter(([name]) => !CLIENT_PARAMETERS.has(name) && !READ_HERE.has(name)));
  const compress = params.get("compress") ?? undefined;
  return { urls, database, settings, compress, skipVerify: isTrue(params.get("skip_verify")), native };
}

const READ_HERE: ReadonlySet<string> = new Set(
  "secure skip_verify username password database compress http_path".split(" "),
);

function isDecodable(text: string): boolean {
  try {
    return decodeURIComponent(text) !== undefined;
  } catch {
    return false;
  }
}

function isTrue(text: string | null): boolean {
  return text !== null && /^(1|t|true)$/i.test(text);
}
