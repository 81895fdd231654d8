/** What an endpoint and `connection_params` say together. */
export interface ClickhouseEndpoint {
  /** Of the HTTP interface of each server, with credentials and without a query. */
  readonly urls: readonly URL[];
  /** Empty when it names none. */
  readonly database: string;
  /** For the server, with every request. */
  readonly settings: ReadonlyMap<string, string>;
  /** Undefined when it does not say. */
  readonly compress: string | undefined;
  readonly skipVerify: boolean;
  /** Servers of which the endpoint names the port of another protocol, as it was written. */
  readonly native: readonly string[];
}

const EXPECTED =
  "expected a URL such as http://clickhouse:8123, tcp://clickhouse:9000 or clickhouse://clickhouse:9000/otel";

const EXPECTED_PERCENT = "expected a URL in which every % that means itself is written as %25";

const HTTP_PORT = 8123;
const HTTPS_PORT = 8443;

/** Parameters of the Collector's client that are about its connections: nothing for the server. */
const OF_THE_CLIENT: ReadonlySet<string> = new Set(
  `block_buffer_size client_info_product compress_level conn_max_lifetime connection_open_strategy debug dial_timeout
  http_proxy max_compression_buffer max_idle_conns max_open_conns read_timeout`.split(/\s+/),
);

/**
 * Reads an endpoint, or says what is wrong with it. Several servers stand with commas between them, and only the first must have a
 * scheme. The native protocol is not spoken: of a server that is named with it, the HTTP interface is used at its usual port.
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
  const settings = new Map([...params].filter(([name]) => !OF_THE_CLIENT.has(name) && !READ_HERE.has(name)));
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
