import { type Http1Answer, httpClientDefaults, tlsClient } from "#net";
import { type AwsCredentials, renewedAwsKeys, signRequest } from "#net/aws";
import { parseRetryAfter, refusalOfHttp } from "#net/otlp";
import { HttpPoster, plainText } from "#net/sending";
import { environmentVariable } from "#system";
import { type ExporterContext, Refusal } from "../../plugin.js";
import type { AwsSessionConfig } from "./aws-keys.js";

/** An error of an AWS service, with the name of its type. */
interface AwsError {
  readonly status: number;
  readonly type: string;
  readonly message: string;
}

/** Signed POST requests to one AWS service. */
export class AwsRequests {
  readonly poster: HttpPoster;
  private readonly service: string;
  private readonly region: string;
  private readonly url: URL;
  private readonly headers: Readonly<Record<string, string>>;
  private readonly keys: ReturnType<typeof renewedAwsKeys>;
  private readonly context: ExporterContext;

  /** `path` and `type` are those of all requests. */
  constructor(service: string, path: string, type: string, config: AwsSessionConfig, context: ExporterContext) {
    this.service = service;
    this.context = context;
    this.region = config.region || environmentVariable("AWS_REGION") || environmentVariable("AWS_DEFAULT_REGION") || "";
    const domain = `amazonaws.com${this.region.startsWith("cn-") ? ".cn" : ""}`;
    this.url = new URL(config.endpoint ?? `https://${service}.${this.region || "unknown"}.${domain}`);
    this.url.pathname = `${this.url.pathname.replace(/\/$/, "")}${path}`;
    this.headers = { "content-type": type };
    const role = { arn: config.role_arn, sts_region: "" };
    this.keys = renewedAwsKeys({ region: this.region, assume_role: role }, context);
    const tls = config.no_verify_ssl ? tlsClient().parse({ insecure_skip_verify: true }) : undefined;
    const client = { ...httpClientDefaults(), proxy_url: config.proxy_address, tls };
    this.poster = new HttpPoster(this.url, client, this.headers, context);
  }

  /** Returns the headers that sign this body, together with `more`. */
  async sign(body: Uint8Array, more: Readonly<Record<string, string>> = {}): Promise<Record<string, string>> {
    if (this.region === "")
      throw new Refusal("permanent", "there is no AWS region: write region, or set AWS_REGION", {
        status: "HTTP 401",
        category: "integration",
      });
    const keys: AwsCredentials = await this.keys.get();
    const { url, region, service } = this;
    const headers = { ...this.headers, ...more };
    const at = this.context.clock.now();
    return { ...more, ...signRequest({ method: "POST", url, headers, body, region, service, at }, keys) };
  }

  /** Throws the refusal for an error. Returns the type of an error that `isExpected`, and undefined for a success. */
  readError(answer: Http1Answer, isExpected: (type: string) => boolean = () => false): string | undefined {
    const error = errorIn(answer);
    if (error === undefined) return undefined;
    if (isExpected(error.type)) return error.type;
    const { status, type, message } = error;
    const detail = type === "" ? message : `${type}: ${message}`;
    if (RETRYABLE.test(type)) throw new Refusal("transient", detail, { status: `HTTP ${status}`, blame: "backend" });
    if (CREDENTIALS.test(type)) throw new Refusal("permanent", detail, { status: type, category: "integration" });
    throw refusalOfHttp(status, detail, parseRetryAfter(answer.headers.get("retry-after"), this.context.clock.now()));
  }
}

/** Errors with status 400 that pass by themselves. */
const RETRYABLE =
  /throttl|LimitExceeded|TooManyRequests|ServiceUnavailable|OperationAborted|RequestAborted|RequestTimeout|InternalFailure/i;
/** Errors that the user must fix: keys, permissions, or the clock. */
const CREDENTIALS =
  /UnrecognizedClient|ExpiredToken|InvalidSignature|AccessDenied|MissingAuthentication|InvalidClientTokenId|SignatureDoesNotMatch|IncompleteSignature|NotAuthorized|OptInRequired|RequestExpired/i;

/** Returns undefined for a success. */
function errorIn({ status, headers, body }: Http1Answer): AwsError | undefined {
  if (status >= 200 && status < 300) return undefined;
  const text = plainText(body);
  const named =
    headers.get("x-amzn-errortype")?.split(":")[0] ?? /"(?:__type|code)"\s*:\s*"([^"]*)"/.exec(text)?.[1] ?? "";
  const message = /"[Mm]essage"\s*:\s*"([^"]*)"/.exec(text)?.[1] ?? text;
  return { status, type: named.split("#").at(-1)!, message };
}
