import type { ComponentContext } from "#contract";
import { ERROR_CODES, Refusal, StartError } from "#contract/errors";
import {
  type Http1Answer,
  Http1Client,
  type HttpTarget,
  httpClientDefaults,
  httpTarget,
  loadClientTls,
  renewClientTls,
  type TlsClientOptions,
} from "#net";
import { isErrorOfOldKeys, kindOfAwsError, renewedAwsKeys, signRequest } from "#net/aws";
import { refusalOfUnreadable, resendIfStale } from "#net/otlp";
import { environmentVariable } from "#system";
import type { SqsConnectionConfig, SqsQueueAddress } from "./sqs-config.js";

/** Ten messages of 1 MiB, if every character is escaped. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
const MAX_CONNECTIONS = 100;
const IDLE_MS = 60_000;
const SERVICE = "sqs";
/** For servers other than AWS. Most of them ignore the region. */
const ANY_REGION = "us-east-1";

/** Signed requests to SQS, by its JSON protocol. */
export class SqsClient {
  /** The server's name in errors. */
  readonly peer: string;
  private readonly config: SqsConnectionConfig;
  private readonly context: ClientContext;
  private readonly region: string;
  private readonly target: HttpTarget;
  private readonly keys: ReturnType<typeof renewedAwsKeys>;
  private tls: TlsClientOptions = { rejectUnauthorized: true };
  private http: Http1Client | undefined;

  /** `near` is a queue whose URL tells the server and region, if the config does not. Throws a `StartError` if neither does. */
  constructor(config: SqsConnectionConfig, near: SqsQueueAddress, context: ClientContext) {
    this.config = config;
    this.context = context;
    this.region = regionOf(config, near);
    this.keys = renewedAwsKeys({ ...config, region: this.region }, context);
    const own = { "Content-Type": "application/x-amz-json-1.0" };
    const { proxy_url } = config;
    this.target = httpTarget(serverOf(config, near, this.region), { ...httpClientDefaults(), proxy_url }, own);
    this.peer = this.target.origin;
  }

  /** Rejects with a `StartError` if a file of `tls` cannot be read. */
  async start(): Promise<void> {
    const { config, context, target } = this;
    if (config.tls) this.tls = await loadClientTls(config.tls, ["tls"]);
    const { host, port, proxy, isSecure } = target;
    const origin = { host, port, proxy, ...(isSecure && { tls: this.tls }) };
    this.http = new Http1Client(origin, {
      clock: context.clock,
      maxConnections: MAX_CONNECTIONS,
      maxIdle: MAX_CONNECTIONS,
      idleTimeoutMs: IDLE_MS,
      maxAnswerBytes: MAX_ANSWER_BYTES,
    });
  }

  stop(): void {
    this.http?.close();
  }

  /** Resolves with the answer to an action such as `SendMessage`. Rejects with a `Refusal`. */
  async call(action: string, input: object, abort: AbortSignal): Promise<Readonly<Record<string, unknown>>> {
    const { target, region } = this;
    const keys = await this.keys.get();
    const body = Buffer.from(JSON.stringify(input));
    const headers = { "x-amz-target": `AmazonSQS.${action}` };
    const signing = { method: "POST", url: target.requestUrl, headers: { ...target.headers, ...headers }, body };
    const at = this.context.clock.now();
    const signature = signRequest({ ...signing, region, service: SERVICE, at }, keys);
    const head = target.headWith({ ...headers, ...signature });
    const request = (isResend: boolean) => this.http!.request(head, [body], abort, isResend);
    try {
      return await resendIfStale(this.peer, abort, request, (answer) => this.read(answer, keys));
    } catch (error) {
      if (this.config.tls) void renewClientTls(this.tls, this.config.tls);
      throw error;
    }
  }

  private read(
    answer: Http1Answer,
    keys: Awaited<ReturnType<typeof this.keys.get>>,
  ): Readonly<Record<string, unknown>> {
    const { status, body } = answer;
    const json = parseObject(body);
    if (status === 200 && json !== undefined) return json;
    if (status === 200) throw refusalOfUnreadable(this.peer, "the answer is not JSON");
    const error = errorOf(answer, json ?? {});
    if (isErrorOfOldKeys(error)) this.keys.forget(keys);
    throw refusalOfSqs(error, this.peer);
  }
}

type ClientContext = Pick<ComponentContext, "clock" | "random" | "logger">;

function regionOf({ region, endpoint }: SqsConnectionConfig, { queue_url: url }: SqsQueueAddress): string {
  const found = region ?? /^(?:sqs\.([a-z0-9-]+)|([a-z0-9-]+)\.queue)\.amazonaws\.com/.exec(url?.hostname ?? "");
  const named = typeof found === "string" ? found : (found?.[1] ?? found?.[2]);
  const known = named ?? environmentVariable("AWS_REGION") ?? environmentVariable("AWS_DEFAULT_REGION");
  if (known !== undefined) return known;
  if (endpoint !== undefined || url !== undefined) return ANY_REGION;
  throw new StartError("the region of the queue is unknown: set region, queue_url or AWS_REGION", ["region"]);
}

function serverOf({ endpoint }: SqsConnectionConfig, { queue_url: url }: SqsQueueAddress, region: string): URL {
  if (endpoint !== undefined) return endpoint;
  if (url !== undefined) return new URL("/", url);
  return new URL(`https://sqs.${region}.amazonaws.com${region.startsWith("cn-") ? ".cn" : ""}/`);
}

/** The JSON names the error by `__type`; a server in between may answer without JSON. */
function errorOf({ status, headers, body }: Http1Answer, json: Readonly<Record<string, unknown>>): SqsError {
  const { __type: type, message, Message } = json;
  const named = typeof type === "string" ? type : headers.get("x-amzn-errortype");
  const code = named?.slice(named.lastIndexOf("#") + 1).split(":", 1)[0] || `HTTP ${status}`;
  const text = message ?? Message ?? body.subarray(0, 300).toString("utf8");
  return { code, message: String(text), isSenderFault: status < 500, httpStatus: status };
}

function parseObject(body: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = body.length === 0 ? {} : JSON.parse(body.toString("utf8"));
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** The error that SQS reports for a request, or about one entry of a batch, that it did not carry out. */
interface SqsError {
  /** Without the prefix of its namespace, such as `QueueDoesNotExist`. */
  readonly code: string;
  readonly message: string;
  /** Whether the sender has to change something. */
  readonly isSenderFault: boolean;
  readonly httpStatus?: number;
}

/** Queues and keys for encryption can be created and repaired; the message is not at fault. */
// Linear: what repeats starts once.
const MISSING = /NonExistentQueue$|^(QueueDoesNotExist|QueueDeletedRecently|Kms\w+)$/;
const TOO_LARGE = /^BatchRequestTooLong|^MessageTooLong|must be shorter than|message (is )?too (long|large)/i;

/** Classifies an error of SQS. Messages are refused permanently only if they are at fault. */
export function refusalOfSqs(error: SqsError, peer: string): Refusal {
  const { code, isSenderFault, httpStatus = 0 } = error;
  const message = `${peer}: ${code}: ${error.message}`;
  const status = code;
  const kind = kindOfAwsError(code, httpStatus);
  if (kind === "throttled") return new Refusal("throttled", message, { status, blame: "backend" });
  if (kind === "unavailable") return new Refusal("transient", message, { status, blame: "backend" });
  if (kind === "unauthorized")
    return new Refusal("permanent", message, { status: "HTTP 403", category: "integration" });
  if (MISSING.test(code)) return new Refusal("transient", message, { status, blame: "backend" });
  if (TOO_LARGE.test(`${code}: ${error.message}`))
    return new Refusal("permanent", message, { status, code: ERROR_CODES.SLUICE_TOO_LARGE, category: "schema" });
  return isSenderFault
    ? new Refusal("permanent", message, { status, category: "schema" })
    : new Refusal("transient", message, { status, blame: "entry" });
}
