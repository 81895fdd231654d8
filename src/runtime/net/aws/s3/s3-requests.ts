import { createHash } from "node:crypto";
import type { Agent, IncomingMessage } from "node:http";
import type { Agent as SecureAgent } from "node:https";
import process from "node:process";
import { setImmediate } from "node:timers/promises";
import type { ComponentContext } from "#contract";
import { isRefusal, type Refusal } from "#contract/errors";
import type { RenewedCredentials } from "../../auth/renewed-credentials.js";
import { httpClientDefaults } from "../../http-client-keys.js";
import { openRequest, readAnswer } from "../../http-request.js";
import { Http1Client } from "../../http1/client.js";
import type { Http1Answer } from "../../http1/connection.js";
import { type HttpTarget, httpTarget } from "../../http1/http-target.js";
import { parseRetryAfter, refusalOfAbort, refusalOfConnection } from "../../otlp/refusals.js";
import { resendIfStale } from "../../otlp/sending.js";
import { renewedAwsKeys } from "../aws-credentials.js";
import { isErrorOfOldKeys } from "../aws-errors.js";
import { type AwsCredentials, signRequest } from "../sign.js";
import { type S3Address, type S3Query, s3ObjectUrl, s3ServerUrl } from "./s3-address.js";
import { refusalOfS3, s3ErrorIn } from "./s3-errors.js";

/** A request to S3. */
export interface S3Request {
  readonly method: "GET" | "PUT" | "POST" | "DELETE" | "HEAD";
  /** The object; "" for the bucket itself. */
  readonly key: string;
  readonly query?: S3Query;
  /** By lower-case name. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** Another bucket than that of the address. */
  readonly bucket?: string | undefined;
}

export type S3Context = Pick<ComponentContext, "clock" | "random" | "logger">;

/** A page of a list has at most 1,000 keys of 1,024 bytes, each byte escaped by three or more. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
const MAX_ERROR_BYTES = 256 * 1024;
const MAX_CONNECTIONS = 100;
const IDLE_MS = 60_000;
const SERVICE = "s3";
const TLS = { rejectUnauthorized: true };

/** Sends signed requests to one S3 server. All errors are thrown as `Refusal`s. */
export class S3Requests {
  private readonly address: S3Address;
  private readonly context: S3Context;
  private readonly keys: RenewedCredentials<AwsCredentials>;
  /** One client for the bucket's own host, and one for the server's. */
  private readonly clients = new Map<string, Http1Client>();
  private agents: { readonly plain: Agent; readonly secure: SecureAgent } | undefined;
  private isClosed = false;

  /** `roleArn` is a role to assume, or "". */
  constructor(address: S3Address, roleArn: string, context: S3Context) {
    this.address = address;
    this.context = context;
    const role = { arn: roleArn, sts_region: "" };
    this.keys = renewedAwsKeys({ region: address.region, assume_role: role }, context);
  }

  /** The server's name in errors. */
  get peer(): string {
    return s3ServerUrl(this.address).origin;
  }

  /** Sends a request, and resolves with its answer if that is a success. */
  async send(request: S3Request, abort: AbortSignal): Promise<Http1Answer> {
    const { target, headers, keys } = await this.sign(request);
    const head = target.headWith(headers);
    const body = request.body === undefined ? [] : [request.body];
    const client = this.clientOf(target);
    const attempt = (isResend: boolean) => client.request(head, body, abort, isResend);
    return resendIfStale(target.origin, abort, attempt, (answer) => {
      if (answer.status >= 200 && answer.status < 300) return answer;
      throw this.refusalOf(answer.status, answer.headers.get("retry-after"), answer.body.toString("utf8"), keys);
    });
  }

  /** Sends a request, and resolves when the head of a successful answer has come. The caller reads the body. */
  async open(request: S3Request, abort: AbortSignal): Promise<IncomingMessage> {
    const { target, headers, keys } = await this.sign(request);
    if (abort.aborted) throw refusalOfAbort(target.origin, abort);
    const { requestUrl: url, proxy } = target;
    this.agents ??= newAgents();
    const all = { "User-Agent": "sluice", ...headers };
    const opened = openRequest({
      method: request.method,
      url,
      headers: all,
      tls: TLS,
      proxy,
      signal: abort,
      agents: this.agents,
    });
    try {
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        // Errors after the head of the answer are those of its body.
        opened.once("response", resolve).on("error", reject).end();
      });
      const { statusCode: status = 0 } = response;
      if (status >= 200 && status < 300) return response;
      const text = (await readAnswer(response, MAX_ERROR_BYTES)).toString("utf8");
      throw this.refusalOf(status, response.headers["retry-after"], text, keys);
    } catch (error) {
      throw isRefusal(error) ? error : this.refusalOfBroken(error, abort);
    }
  }

  /** The refusal for an error while an answer is read. */
  refusalOfBroken(error: unknown, abort: AbortSignal): Refusal {
    if (abort.aborted) return refusalOfAbort(this.peer, abort);
    return refusalOfConnection(this.peer, error);
  }

  close(): void {
    this.isClosed = true;
    for (const client of this.clients.values()) client.close();
    this.agents?.plain.destroy();
    this.agents?.secure.destroy();
  }

  private async sign(request: S3Request): Promise<SignedRequest> {
    const { method, key, query, bucket, body = new Uint8Array() } = request;
    const keys = await this.keys.get();
    const url = s3ObjectUrl(this.address, key, query, bucket);
    const bodyHash = await sha256(body);
    const headers = { ...request.headers, "x-amz-content-sha256": bodyHash };
    const { region } = this.address;
    const signing = { method, url, headers, body, bodyHash, region, service: SERVICE, at: this.context.clock.now() };
    const target = httpTarget(url, httpClientDefaults(), {}, method);
    return { target, headers: { ...headers, ...signRequest(signing, keys) }, keys };
  }

  private clientOf({ host, port, proxy, isSecure, origin }: HttpTarget): Http1Client {
    let client = this.clients.get(origin);
    if (client === undefined) {
      client = new Http1Client(
        { host, port, proxy, ...(isSecure && { tls: TLS }) },
        {
          clock: this.context.clock,
          maxConnections: MAX_CONNECTIONS,
          maxIdle: MAX_CONNECTIONS,
          idleTimeoutMs: IDLE_MS,
          maxAnswerBytes: MAX_ANSWER_BYTES,
        },
      );
      if (this.isClosed) client.close();
      this.clients.set(origin, client);
    }
    return client;
  }

  private refusalOf(status: number, retryAfter: string | undefined, text: string, keys: AwsCredentials): Refusal {
    const error = s3ErrorIn(status, text, parseRetryAfter(retryAfter, this.context.clock.now()));
    if (isErrorOfOldKeys(error)) this.keys.forget(keys);
    return refusalOfS3(error, this.peer);
  }
}

interface SignedRequest {
  readonly target: HttpTarget;
  readonly headers: Readonly<Record<string, string>>;
  readonly keys: AwsCredentials;
}

const HASHED_BYTES = 4 * 1024 * 1024;

/** Gives other work its turn between pieces of a large body. */
async function sha256(body: Uint8Array): Promise<string> {
  const hash = createHash("sha256");
  for (let at = 0; at < body.length; at += HASHED_BYTES) {
    if (at > 0) await setImmediate();
    hash.update(body.subarray(at, at + HASHED_BYTES));
  }
  return hash.digest("hex");
}

function newAgents(): { readonly plain: Agent; readonly secure: SecureAgent } {
  const options = { keepAlive: true, timeout: IDLE_MS };
  return {
    plain: new (process.getBuiltinModule("node:http").Agent)(options),
    secure: new (process.getBuiltinModule("node:https").Agent)(options),
  };
}
