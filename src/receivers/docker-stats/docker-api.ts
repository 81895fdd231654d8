import type { RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";
import { readAnswer, type TlsClientOptions } from "#net";

/** Docker's address: a Unix socket or a host. */
type DockerEndpoint = { readonly socketPath: string } | { readonly url: URL };

/** Parses `unix:///path`, `tcp://host:port`, `http://host` or `https://host`. Returns undefined for anything else. */
export function parseDockerEndpoint(text: string): DockerEndpoint | undefined {
  const path = /^unix:\/\/(\/.+)$/.exec(text)?.[1];
  if (path !== undefined) return { socketPath: path };
  const url = text.replace(/^tcp:\/\//, "http://");
  return /^https?:\/\/[^/]/.test(url) && URL.canParse(url) ? { url: new URL(url) } : undefined;
}

interface DockerApiSettings {
  readonly endpoint: DockerEndpoint;
  readonly version: string | undefined;
  /** 0 means no limit. */
  readonly timeoutMs: number;
  readonly tls: TlsClientOptions | undefined;
}

const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/** A client for Docker's HTTP API. */
export class DockerApi {
  private readonly settings: DockerApiSettings;
  private prefix: string;

  constructor(settings: DockerApiSettings) {
    this.settings = settings;
    this.prefix = settings.version === undefined ? "" : `/v${settings.version}`;
  }

  /** Returns the JSON at a path. When Docker reports an error, throws an error with Docker's message. */
  async get(path: string, abort: AbortSignal): Promise<unknown> {
    const { status, text } = await this.ask(this.prefix + path, abort);
    if (status === 200) return JSON.parse(text);
    // Docker drops support for old API versions, and a config may still name one.
    if (status === 400 && this.prefix !== "" && /too old/.test(text)) {
      this.prefix = "";
      return this.get(path, abort);
    }
    throw new Error(`Docker answers ${status}: ${messageOf(text)}`);
  }

  private ask(path: string, abort: AbortSignal): Promise<{ readonly status: number; readonly text: string }> {
    const { endpoint, timeoutMs, tls } = this.settings;
    return new Promise((resolve, reject) => {
      const signal = timeoutMs === 0 ? abort : AbortSignal.any([abort, AbortSignal.timeout(timeoutMs)]);
      const options: RequestOptions = {
        path,
        signal,
        headers: { Host: "docker" },
        agent: false,
        ...addressOf(endpoint),
      };
      const isSecure = "url" in endpoint && endpoint.url.protocol === "https:";
      const send = isSecure
        ? httpsRequest({ ...options, ...tls })
        : process.getBuiltinModule("node:http").request(options);
      const fail = (error: Error) =>
        reject(signal.aborted && !abort.aborted ? new Error(`no answer within ${timeoutMs} ms`) : error);
      send.on("error", fail).on("response", (answer) => {
        readAnswer(answer, MAX_ANSWER_BYTES)
          .then((bytes) => resolve({ status: answer.statusCode ?? 0, text: bytes.toString("utf8") }))
          .catch(fail);
      });
      send.end();
    });
  }
}

function addressOf(endpoint: DockerEndpoint): RequestOptions {
  if ("socketPath" in endpoint) return { socketPath: endpoint.socketPath };
  const { hostname, port } = endpoint.url;
  return { host: hostname.replace(/^\[(.*)\]$/, "$1"), ...(port !== "" && { port: Number(port) }) };
}

function messageOf(text: string): string {
  try {
    return String((JSON.parse(text) as { message?: unknown }).message ?? text.slice(0, 200));
  } catch {
    return text.slice(0, 200);
  }
}
