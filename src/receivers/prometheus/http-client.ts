import { readFile } from "node:fs/promises";
import type { Agent, ClientRequest, IncomingMessage } from "node:http";
import { Agent as SecureAgent } from "node:https";
import {
  addressOfUrl,
  loadClientTls,
  openRequest,
  proxyFromEnvironment,
  proxyOfUrl,
  type TlsClientOptions,
} from "#net";
import type { ScrapeClientConfig } from "./http-config.js";

const MAX_REDIRECTS = 10;
/** Connections are kept for the next scrape, which mostly comes within a minute. */
const IDLE_MS = 120_000;

/**
 * Makes GET requests for a job or a discovery. The body of a response is a stream, so the caller decides how much to
 * read.
 */
export class ScrapeHttpClient {
  private readonly config: ScrapeClientConfig;
  private readonly plain: Agent;
  private readonly tls: TlsClientOptions;
  private readonly secure: SecureAgent;

  private constructor(config: ScrapeClientConfig, tls: TlsClientOptions) {
    this.config = config;
    this.tls = tls;
    const keep = { keepAlive: true, timeout: IDLE_MS, maxFreeSockets: 1 };
    this.plain = new (process.getBuiltinModule("node:http").Agent)(keep);
    this.secure = new SecureAgent({ ...keep, ...tls });
  }

  /** Throws a `StartError` if certificates cannot be used; `path` is their place in the config. */
  static async create(config: ScrapeClientConfig, path: readonly string[]): Promise<ScrapeHttpClient> {
    return new ScrapeHttpClient(config, await loadClientTls(tlsSettings(config), [...path, "tls_config"]));
  }

  /** Rejects if no response head arrives; the caller judges the response. */
  async get(url: URL, headers: Readonly<Record<string, string>>, abort: AbortSignal): Promise<IncomingMessage> {
    const own = await this.ownHeaders();
    let to = url;
    for (let redirects = 0; ; redirects++) {
      // Send credentials only to the host they were configured for, and never over plain HTTP if the original URL was
      // https.
      const isTrusted = to.host === url.host && (to.protocol === "https:" || url.protocol === "http:");
      const sent = isTrusted ? { ...headers, ...own } : headers;
      const response = await this.ask(to, sent, abort);
      const { location } = response.headers;
      const isRedirect = [301, 302, 303, 307, 308].includes(response.statusCode!) && location !== undefined;
      if (!isRedirect || !this.config.follow_redirects) return response;
      response.resume();
      if (redirects === MAX_REDIRECTS) throw new Error(`there were more than ${MAX_REDIRECTS} redirects`);
      to = new URL(location, to);
      if (to.protocol !== "http:" && to.protocol !== "https:") throw new Error(`it was redirected to ${to.protocol}`);
    }
  }

  close(): void {
    this.plain.destroy();
    this.secure.destroy();
  }

  /** A server may close a kept connection just as it is reused. The request is then repeated on a new connection. */
  private async ask(url: URL, headers: Readonly<Record<string, string>>, abort: AbortSignal): Promise<IncomingMessage> {
    for (;;) {
      const request = this.request(url, headers, abort);
      try {
        return await answerTo(request);
      } catch (error) {
        if (abort.aborted || !request.reusedSocket) throw error;
      }
    }
  }

  private request(url: URL, headers: Readonly<Record<string, string>>, signal: AbortSignal): ClientRequest {
    const { isSecure, host, port } = addressOfUrl(url);
    const proxy = this.proxyFor(isSecure, host, port);
    const agents = { plain: this.plain, secure: this.secure };
    return openRequest({ url, headers, tls: this.tls, proxy, signal, agents });
  }

  private proxyFor(isSecure: boolean, host: string, port: number) {
    const { proxy_url: url, no_proxy: except, proxy_from_environment: isFromEnvironment } = this.config;
    if (url === undefined || url === "")
      return isFromEnvironment ? proxyFromEnvironment(isSecure, host, port) : undefined;
    const isExempt = (except ?? "").split(",").some((each) => isHostOf(host, each.trim()));
    return isExempt ? undefined : proxyOfUrl(url);
  }

  /** Files are read every time, because tokens change while the agent runs. */
  private async ownHeaders(): Promise<Record<string, string>> {
    const {
      authorization,
      basic_auth: basic,
      bearer_token: token,
      bearer_token_file: tokenFile,
      http_headers: more,
    } = this.config;
    const headers: Record<string, string> = {};
    for (const [name, { values, secrets, files }] of Object.entries(more ?? {})) {
      headers[name] = [...values, ...secrets, ...(await Promise.all(files.map(fileText)))].join(", ");
    }
    if (basic !== undefined) {
      const user = basic.username_file === undefined ? basic.username : await fileText(basic.username_file);
      const password = basic.password_file === undefined ? basic.password : await fileText(basic.password_file);
      headers["Authorization"] = `Basic ${Buffer.from(`${user ?? ""}:${password ?? ""}`).toString("base64")}`;
    } else if (authorization !== undefined) {
      const { type, credentials, credentials_file: file } = authorization;
      const text = file === undefined ? credentials : await fileText(file);
      if (text !== undefined) headers["Authorization"] = `${type.trim()} ${text}`;
    } else if (token !== undefined || tokenFile !== undefined) {
      headers["Authorization"] = `Bearer ${tokenFile === undefined ? token : await fileText(tokenFile)}`;
    }
    return headers;
  }
}

function answerTo(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.once("response", resolve);
    request.on("error", reject);
    request.end();
  });
}

async function fileText(file: string): Promise<string> {
  return (await readFile(file, "utf8")).trim();
}

function isHostOf(host: string, pattern: string): boolean {
  if (pattern === "") return false;
  return pattern === "*" || host === pattern || host.endsWith(pattern.startsWith(".") ? pattern : `.${pattern}`);
}

/** The same settings under the Collector's keys, which `loadClientTls` expects. */
function tlsSettings({ tls_config: tls }: ScrapeClientConfig): Parameters<typeof loadClientTls>[0] {
  const version = (name: string | undefined, other: "1.2" | "1.3") =>
    (name === undefined ? other : `1.${name.slice(-1)}`) as "1.2";
  return {
    ca_file: tls?.ca_file,
    ca_pem: tls?.ca,
    cert_file: tls?.cert_file,
    cert_pem: tls?.cert,
    key_file: tls?.key_file,
    key_pem: tls?.key,
    server_name_override: tls?.server_name,
    insecure_skip_verify: tls?.insecure_skip_verify ?? false,
    min_version: version(tls?.min_version, "1.2"),
    max_version: version(tls?.max_version, "1.3"),
    insecure: false,
    include_system_ca_certs_pool: false,
  };
}
