import { Agent, type OutgoingHttpHeaders, type RequestOptions, request } from "node:http";
import process from "node:process";
import {
  type Batch,
  batchToJson,
  defineExporter,
  type Exporter,
  type ExporterContext,
  IDEMPOTENCY_HEADER,
  type PartialRejection,
  Refusal,
  type SendOptions,
  SIGNALS,
  type Signal,
} from "../../plugin.js";
import {
  contentTypeOf,
  decodeResponse,
  decodeStatus,
  encodingOf,
  gzip,
  loadClientTls,
  OTLP_SERVICES,
  parseRetryAfter,
  refusalOfHttp,
  sendTwiceIfStale,
} from "../../runtime/kit.js";
import { type OtlpHttpConfig, otlpHttpSchema } from "./config.js";
import { type HttpResult, sendHttpRequest } from "./http-request.js";

/** Sends OTLP over HTTP. */
export const otlpHttpExporter = defineExporter<OtlpHttpConfig>({
  type: "otlp_http",
  aliases: ["otlphttp"],
  summary: "Sends OTLP over HTTP, as protobuf or JSON.",
  signals: SIGNALS,
  defaults: { timeout: "30s" },
  schema: otlpHttpSchema,
  create: (config, context) => new OtlpHttpExporter(config, context),
});

const DEFAULT_CONNECTIONS = 100;

interface Agents {
  /** Connections that are kept and used again. */
  readonly kept: Agent;
  /** A connection for one request. */
  readonly fresh: Agent;
}

class OtlpHttpExporter implements Exporter {
  private readonly config: OtlpHttpConfig;
  private readonly context: ExporterContext;
  private readonly targets: ReadonlyMap<Signal, HttpTarget>;
  private readonly headers: OutgoingHttpHeaders;
  private plain: Agents | undefined;
  private secure: Agents | undefined;

  constructor(config: OtlpHttpConfig, context: ExporterContext) {
    this.config = config;
    this.context = context;
    this.targets = new Map(
      SIGNALS.flatMap((signal) => {
        const target = targetOf(config, signal);
        return target ? [[signal, target] as const] : [];
      }),
    );
    this.headers = {
      "Content-Type": contentTypeOf(config.encoding),
      "User-Agent": "sluice",
      ...(config.compression === "gzip" && { "Content-Encoding": "gzip" }),
      ...config.headers,
    };
  }

  async start(): Promise<void> {
    const tls = this.config.tls ? await loadClientTls(this.config.tls, ["tls"]) : {};
    const options = agentOptions(this.config);
    const once = { keepAlive: false };
    this.plain = { kept: new Agent(options), fresh: new Agent(once) };
    if (![...this.targets.values()].some(({ secure }) => secure)) return;
    const https = process.getBuiltinModule("node:https");
    this.secure = { kept: new https.Agent({ ...options, ...tls }), fresh: new https.Agent({ ...once, ...tls }) };
  }

  async send(batch: Batch, abort: AbortSignal, options?: SendOptions): Promise<PartialRejection | undefined> {
    const target = this.targets.get(batch.signal);
    if (target === undefined) throw noEndpoint(batch.signal);
    const chunks = await this.encodeBody(batch);
    const result = await sendTwiceIfStale(target.url, abort, (isResend) =>
      this.sendRequest(target, chunks, abort, options?.idempotencyKey, isResend ? "fresh" : "kept"),
    );
    return this.readResult(result, batch.signal);
  }

  async stop(): Promise<void> {
    for (const agents of [this.plain, this.secure]) {
      agents?.kept.destroy();
      agents?.fresh.destroy();
    }
  }

  private async encodeBody(batch: Batch): Promise<readonly Uint8Array[]> {
    const { encoding, compression, compression_params: params } = this.config;
    if (encoding === "json") {
      const text = Buffer.from(batchToJson(batch));
      return [compression === "gzip" ? await gzip(text, params?.level) : text];
    }
    return compression === "gzip" ? [await gzip(batch.bytes, params?.level)] : batch.chunks;
  }

  private sendRequest(
    target: HttpTarget,
    chunks: readonly Uint8Array[],
    abort: AbortSignal,
    key: string | undefined,
    which: keyof Agents,
  ) {
    const agents = target.secure ? this.secure : this.plain;
    const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    const options: RequestOptions = {
      method: "POST",
      hostname: target.hostname,
      port: target.port,
      path: target.path,
      headers: { ...this.headers, "Content-Length": length, ...(key && { [IDEMPOTENCY_HEADER]: key }) },
      ...(target.auth && { auth: target.auth }),
      ...(agents && { agent: agents[which] }),
    };
    const send = target.secure ? process.getBuiltinModule("node:https").request : request;
    return sendHttpRequest(send, options, chunks, abort, this.context.clock);
  }

  private readResult({ status, headers, body }: HttpResult, signal: Signal): PartialRejection | undefined {
    const encoding = encodingOf(headers["content-type"]);
    if (status >= 200 && status < 300) return decodeResponse(signal, encoding ?? this.config.encoding, body);
    const detail = encoding ? decodeStatus(body, encoding).message : "";
    throw refusalOfHttp(
      status,
      detail || plainText(body),
      parseRetryAfter(headers["retry-after"], this.context.clock.now()),
    );
  }
}

function agentOptions(config: OtlpHttpConfig) {
  return {
    keepAlive: !config.disable_keep_alives,
    maxSockets: config.max_conns_per_host || DEFAULT_CONNECTIONS,
    maxFreeSockets: config.max_idle_conns_per_host || config.max_idle_conns || DEFAULT_CONNECTIONS,
    ...(config.idle_conn_timeout > 0 && { timeout: config.idle_conn_timeout }),
    scheduling: "lifo" as const,
  };
}

function noEndpoint(signal: Signal): Refusal {
  return new Refusal("permanent", `no endpoint for ${signal}; set endpoint or ${signal}_endpoint`, {
    category: "integration",
  });
}

/** The beginning of an answer in words, if it is words. */
function plainText(body: Buffer): string {
  const text = body.subarray(0, 300).toString("utf8").trim();
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is looked for
  return /[\u0000-\u0008\ufffd]/.test(text) ? "" : text;
}

/** Where a signal's requests go, taken apart once. */
interface HttpTarget {
  readonly url: string;
  readonly secure: boolean;
  readonly hostname: string;
  readonly port: string;
  /** Path and query. */
  readonly path: string;
  /** `user:password` of the URL. */
  readonly auth: string | undefined;
}

/** The signal's own endpoint, or the common one with the signal's path behind it; undefined when there is neither. */
function targetOf(config: OtlpHttpConfig, signal: Signal): HttpTarget | undefined {
  const signalEndpoint = config[`${signal}_endpoint`];
  if (signalEndpoint) return parseTarget(signalEndpoint);
  if (!config.endpoint) return undefined;
  const url = new URL(config.endpoint);
  url.pathname = url.pathname.replace(/\/$/, "") + OTLP_SERVICES[signal].httpPath;
  return parseTarget(url);
}

function parseTarget(url: URL): HttpTarget {
  const { username, password } = url;
  const auth = username ? `${decodeURIComponent(username)}:${decodeURIComponent(password)}` : undefined;
  return {
    // Without credentials: this one is shown in errors.
    url: `${url.protocol}//${url.host}${url.pathname}`,
    secure: url.protocol === "https:",
    hostname: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: url.port,
    path: url.pathname + url.search,
    auth,
  };
}
