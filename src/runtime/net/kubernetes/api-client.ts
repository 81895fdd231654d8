import { readFile } from "node:fs/promises";
import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { join } from "node:path";
import { environmentVariable } from "#system";
import { parseAnswer, readAnswer } from "../read-answer.js";
import type { TlsClientOptions } from "../tls-load.js";

/** What is written of the API server; what is not is that of the pod the agent runs in. */
export interface KubernetesApiSettings {
  readonly apiServer?: string | undefined;
  readonly tokenFile?: string | undefined;
  readonly caFile?: string | undefined;
  /** How it is spoken to over https, beside the certificates of caFile. */
  readonly tls?: Partial<TlsClientOptions> | undefined;
  /** An answer may be so long at most. */
  readonly maxAnswerBytes?: number;
  /** And have so many objects and lists. */
  readonly maxObjects?: number;
  /** Makes requests in another way, with credentials of its own. */
  readonly request?: KubernetesRequest;
}

type KubernetesRequest = (
  url: URL,
  headers: Readonly<Record<string, string>>,
  abort: AbortSignal,
) => Promise<IncomingMessage>;

/** Where a pod finds the token of its account, and the certificates of its cluster. */
export const SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

/** An answer of the API server that is no success, or no answer at all (status 0). */
export class KubernetesApiError extends Error {
  override readonly name = "KubernetesApiError";
  readonly status: number;

  constructor(status: number, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.status = status;
  }
}

/** Asks a Kubernetes API server. Credentials are read anew for every request: the tokens of pods change within the hour. */
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

  /** The JSON that a path is answered with. Rejects with a `KubernetesApiError`. */
  async get(path: string, abort: AbortSignal): Promise<unknown> {
    const response = await this.open(path, abort);
    return parseAnswer(await bytesOf(response, this.maxAnswerBytes), this.maxObjects);
  }

  /** The lines of an answer that goes on, one after the other, each a JSON value; it ends when the server or `abort` ends it. */
  async *lines(path: string, abort: AbortSignal): AsyncGenerator<unknown> {
    const response = await this.open(path, abort);
    let rest = "";
    response.setEncoding("utf8");
    for await (const chunk of response) {
      const lines = (rest + (chunk as string)).split("\n");
      rest = lines.pop()!;
      if (rest.length > MAX_LINE) throw new KubernetesApiError(0, "a line of a watch is too long");
      for (const line of lines) if (line.trim() !== "") yield JSON.parse(line);
    }
  }

  private async open(path: string, abort: AbortSignal): Promise<IncomingMessage> {
    if (this.url === undefined)
      throw new KubernetesApiError(0, "the agent runs in no Kubernetes cluster; name its API server with api_server");
    const url = new URL(`${this.url}${path}`);
    const [token, ca] = await Promise.all([readIfAny(this.tokenFile), readIfAny(this.caFile)]);
    const headers = { accept: "application/json", ...(token && { authorization: `Bearer ${token.trim()}` }) };
    const response = this.request
      ? await this.request(url, headers, abort)
      : await send(url, { headers, signal: abort, ...this.tls, ...(ca && { ca }) });
    const { statusCode: status = 0 } = response;
    if (status === 200) return response;
    const said = messageOf(await bytesOf(response, MAX_MESSAGE).then(String, () => ""));
    throw new KubernetesApiError(status, `${url.host}: HTTP ${status}${said && `: ${said}`}`);
  }
}

/** An object of the API is at most 1.5 MiB in etcd. */
const MAX_LINE = 8 * 1024 * 1024;
const MAX_ANSWER = 256 * 1024 * 1024;
const MAX_MESSAGE = 1024 * 1024;

function inClusterUrl(): string | undefined {
  const host = environmentVariable("KUBERNETES_SERVICE_HOST");
  const port = environmentVariable("KUBERNETES_SERVICE_PORT") ?? "443";
  return host === undefined ? undefined : `https://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

async function readIfAny(path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined;
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw new KubernetesApiError(0, `${path} cannot be read`, { cause: error });
  }
}

function send(url: URL, options: object): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = (url.protocol === "https:" ? requestHttps : requestHttp)(url, options, resolve);
    request.on("error", (error) =>
      reject(new KubernetesApiError(0, `${url.host}: ${error.message}`, { cause: error })),
    );
    request.end();
  });
}

async function bytesOf(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  try {
    return await readAnswer(response, maxBytes);
  } catch (error) {
    throw new KubernetesApiError(0, (error as Error).message, { cause: error });
  }
}

/** What a Status object says, or the one line that kubelets and proxies answer with. */
function messageOf(text: string): string {
  try {
    return String((JSON.parse(text) as { message?: unknown }).message ?? "").slice(0, 300);
  } catch {
    return /^[^<\n]{1,300}\n?$/.test(text) ? text.trim() : "";
  }
}
