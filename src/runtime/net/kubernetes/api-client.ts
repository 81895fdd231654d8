import { readFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { join } from "node:path";
import { environmentVariable } from "#system";
import { parseAnswer, readAnswer } from "../http-request.js";
import type { TlsClientOptions } from "../tls-load.js";

/** Configured settings of the API server; the others are those of the pod that the agent runs in. */
interface KubernetesApiSettings {
  readonly apiServer?: string | undefined;
  readonly tokenFile?: string | undefined;
  readonly caFile?: string | undefined;
  /** TLS options for https, in addition to the certificates of caFile. */
  readonly tls?: Partial<TlsClientOptions> | undefined;
  /** Limit for the size of a response. */
  readonly maxAnswerBytes?: number;
  /** Limit for the number of objects and lists in a response. */
  readonly maxObjects?: number;
  /** Makes requests in another way, with its own credentials. */
  readonly request?: KubernetesRequest;
}

type KubernetesRequest = (
  url: URL,
  headers: Readonly<Record<string, string>>,
  abort: AbortSignal,
) => Promise<IncomingMessage>;

/** Directory with the token of a pod's account and the certificates of its cluster. */
export const SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

/** An error response of the API server, or no response at all (status 0). */
export class KubernetesApiError extends Error {
  override readonly name = "KubernetesApiError";
  readonly status: number;

  constructor(status: number, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.status = status;
  }
}

/**
 * Client of a Kubernetes API server. Credentials are read for every request, because tokens of pods change within the
 * hour.
 */
export class KubernetesApi {
  private readonly url: string | undefined;
  private readonly tokenFile: string | undefined;
  private readonly caFile: string | undefined;
  private readonly tls: Partial<TlsClientOptions> | undefined;
  private readonly maxAnswerBytes: number;
  private readonly maxObjects: number | undefined;
  private readonly request: KubernetesRequest | undefined;

  constructor(settings: KubernetesApiSettings) {
    const { apiServer, tokenFile, caFile, request, tls, maxAnswerBytes = MAX_ANSWER, maxObjects } = settings;
    this.maxObjects = maxObjects;
    this.request = request;
    this.tls = tls;
    this.maxAnswerBytes = maxAnswerBytes;
    const isInCluster = apiServer === undefined;
    this.url = apiServer?.replace(/\/$/, "") ?? inClusterUrl();
    this.tokenFile = tokenFile ?? (isInCluster ? join(SERVICE_ACCOUNT, "token") : undefined);
    this.caFile = caFile ?? (isInCluster ? join(SERVICE_ACCOUNT, "ca.crt") : undefined);
  }

  /** The namespace of the pod that the agent runs in; `default` when it runs in none. */
  static async ownNamespace(): Promise<string> {
    const text = await readFile(join(SERVICE_ACCOUNT, "namespace"), "utf8").catch(() => "");
    return text.trim() || "default";
  }

  /** The JSON response for a path. Rejects with a `KubernetesApiError`. */
  async get(path: string, abort: AbortSignal): Promise<unknown> {
    const response = await this.open(path, abort);
    return parseAnswer(await bytesOf(response, this.maxAnswerBytes), this.maxObjects);
  }

  /** Creates (POST) or replaces (PUT) an object, and returns it. Rejects with a `KubernetesApiError`. */
  async write(method: "POST" | "PUT", path: string, object: object, abort: AbortSignal): Promise<unknown> {
    const response = await this.open(path, abort, { method, body: JSON.stringify(object) });
    return parseAnswer(await bytesOf(response, this.maxAnswerBytes), this.maxObjects);
  }

  /**
   * Yields the lines of a streaming response, each a JSON value, until the server or `abort` ends it. `onOpen` is called
   * when the response begins.
   */
  async *lines(path: string, abort: AbortSignal, onOpen = () => {}): AsyncGenerator<unknown> {
    const response = await this.open(path, abort);
    onOpen();
    let rest = "";
    response.setEncoding("utf8");
    for await (const chunk of response) {
      const lines = (rest + (chunk as string)).split("\n");
      rest = lines.pop() ?? "";
      if (rest.length > MAX_LINE) throw new KubernetesApiError(0, "a line of a watch is too long");
      for (const line of lines) if (line.trim() !== "") yield JSON.parse(line);
    }
  }

  private async open(path: string, abort: AbortSignal, written?: WrittenObject): Promise<IncomingMessage> {
    if (this.url === undefined)
      throw new KubernetesApiError(0, "the agent does not run in a Kubernetes cluster; set api_server");
    const url = new URL(`${this.url}${path}`);
    const [token, ca] = await Promise.all([readIfGiven(this.tokenFile), readIfGiven(this.caFile)]);
    const headers = {
      accept: "application/json",
      ...(token && { authorization: `Bearer ${token.trim()}` }),
      ...(written && { "content-type": "application/json" }),
    };
    const response = this.request
      ? await this.request(url, headers, abort)
      : await send(
          url,
          { headers, signal: abort, ...this.tls, ...(ca && { ca }), method: written?.method },
          written?.body,
        );
    const { statusCode: status = 0 } = response;
    if (status === 200 || status === 201) return response;
    const said = messageOf(await bytesOf(response, MAX_MESSAGE).then(String, () => ""));
    throw new KubernetesApiError(status, `${url.host}: HTTP ${status}${said && `: ${said}`}`);
  }
}

/** etcd limits an object of the API to 1.5 MiB. */
const MAX_LINE = 8 * 1024 * 1024;
const MAX_ANSWER = 256 * 1024 * 1024;
const MAX_MESSAGE = 1024 * 1024;

function inClusterUrl(): string | undefined {
  const host = environmentVariable("KUBERNETES_SERVICE_HOST");
  const port = environmentVariable("KUBERNETES_SERVICE_PORT") ?? "443";
  return host === undefined ? undefined : `https://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

async function readIfGiven(path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined;
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw new KubernetesApiError(0, `${path} cannot be read`, { cause: error });
  }
}

interface WrittenObject {
  readonly method: "POST" | "PUT";
  readonly body: string;
}

function send(url: URL, options: object, body?: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const client = process.getBuiltinModule(url.protocol === "https:" ? "node:https" : "node:http");
    const request = client.request(url, options, resolve);
    request.on("error", (error) =>
      reject(new KubernetesApiError(0, `${url.host}: ${error.message}`, { cause: error })),
    );
    request.end(body);
  });
}

async function bytesOf(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  try {
    return await readAnswer(response, maxBytes);
  } catch (error) {
    throw new KubernetesApiError(0, (error as Error).message, { cause: error });
  }
}

/** The message of a Status object, or the single line that kubelets and proxies respond with. */
function messageOf(text: string): string {
  try {
    return String((JSON.parse(text) as { message?: unknown }).message ?? "").slice(0, 300);
  } catch {
    return /^[^<\n]{1,300}\n?$/.test(text) ? text.trim() : "";
  }
}
