import type { X509Certificate } from "node:crypto";
import type { ClientRequest, IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { AuthHeaders, ClientAuthenticator } from "#contract";
import type { Semaphore } from "#contract/calls";
import { addressOfUrl, openRequest, proxyFromEnvironment, proxyOfUrl, type TlsClientOptions } from "#net";
import { sendAuthorized } from "#net/auth";
import { isTimedOut } from "#resilience";
import { isRefusal, Refusal } from "../../plugin.js";

/** The request that an endpoint gets. */
interface CheckSettings {
  readonly url: URL;
  readonly method: string;
  /** Keyed by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly tls: TlsClientOptions;
  /** Undefined means the environment's proxy, if there is one. */
  readonly proxyUrl: URL | undefined;
  readonly authenticator: ClientAuthenticator | undefined;
  /** Limits the number of large bodies in memory; a check waits here before it keeps one for its validations. */
  readonly keptBodies: Semaphore;
  /** A monotonic clock in milliseconds. */
  readonly monotonic: () => number;
}

/** Durations of the last request's phases in milliseconds; 0 for phases that did not happen. */
export interface CheckPhases {
  lookup: number;
  connection: number;
  handshake: number;
  request: number;
  response: number;
}

/** The response to a check. */
export interface CheckAnswer {
  readonly status: number;
  /** The server's certificate, if TLS was used. */
  readonly certificate: X509Certificate | undefined;
  readonly size: number;
  /** The result of each rule; empty if the body was not read to its end. */
  readonly validationResults: readonly boolean[];
  /** Why the body was not read to its end; undefined if it was. */
  readonly bodyError: Error | undefined;
}

/** Applies all rules to a body; undefined if there are no rules. */
type ValidateBody = ((body: Buffer) => readonly boolean[]) | undefined;

const MAX_REDIRECTS = 10;
/** Longer bodies are cut off: the server has answered. The limit is lower for bodies kept in memory. */
const MAX_BODY_BYTES = 16 * 1024 * 1024;
const MAX_KEPT_BODY_BYTES = 4 * 1024 * 1024;
/** Up to this size a body is kept without waiting for `keptBodies`. */
const FREE_BODY_BYTES = 256 * 1024;
const REDIRECTS = [301, 302, 303, 307, 308];
/** These repeat the same method at the new location; the other redirects continue with GET. */
const SAME_METHOD_REDIRECTS = [307, 308];

/** Sends requests to one endpoint, each on a new connection. */
export class HttpCheckClient {
  private readonly settings: CheckSettings;

  constructor(settings: CheckSettings) {
    this.settings = settings;
  }

  /** Rejects if no response head arrives. `phases` is filled in along the way, so it is also known after a failure. */
  async check(phases: CheckPhases, validate: ValidateBody, abort: AbortSignal): Promise<CheckAnswer> {
    const { authenticator, method, headers, body } = this.settings;
    if (authenticator === undefined) return this.follow({}, phases, validate, abort);
    const url = bareUrl(this.settings.url);
    const request = { method, url, headers, body: Buffer.from(body) };
    let answer: CheckAnswer | undefined;
    const send = async (more: AuthHeaders) => {
      answer = await this.follow(more, phases, validate, abort);
      const { status } = answer;
      // The refusal makes the authenticator get other credentials; if it has some, they are tried.
      if (status === 401 || status === 403) throw new Refusal("permanent", "", { status: `HTTP ${status}` });
      return answer;
    };
    try {
      return await sendAuthorized(authenticator, request, url.origin, abort, send);
    } catch (error) {
      if (answer !== undefined && isRefusal(error) && error.status?.startsWith("HTTP")) return answer;
      throw error;
    }
  }

  private async follow(
    more: AuthHeaders,
    phases: CheckPhases,
    validate: ValidateBody,
    abort: AbortSignal,
  ): Promise<CheckAnswer> {
    const { url, headers } = this.settings;
    let { method, body } = this.settings;
    let to = url;
    for (let redirects = 0; ; redirects++) {
      // Send credentials only to the host they were configured for, and never over plain HTTP if the original URL was
      // https.
      const isTrusted = to.host === url.host && (to.protocol === "https:" || url.protocol === "http:");
      const sent = isTrusted ? merged(headers, more) : onlyContentType(headers);
      const response = await this.ask(to, method, sent, body, phases, abort);
      const { location } = response.headers;
      const status = response.statusCode!;
      if (location === undefined || !REDIRECTS.includes(status)) {
        const certificate = (response.socket as Partial<TLSSocket>).getPeerX509Certificate?.();
        return { status, certificate, ...(await this.readBody(response, phases, validate, abort)) };
      }
      response.destroy();
      if (redirects === MAX_REDIRECTS) throw new Error(`there were more than ${MAX_REDIRECTS} redirects`);
      to = redirected(location, to);
      if (!SAME_METHOD_REDIRECTS.includes(status)) {
        method = method === "HEAD" ? "HEAD" : "GET";
        body = "";
      }
    }
  }

  private async readBody(
    response: IncomingMessage,
    phases: CheckPhases,
    validate: ValidateBody,
    abort: AbortSignal,
  ): Promise<Pick<CheckAnswer, "size" | "validationResults" | "bodyError">> {
    const { keptBodies, monotonic } = this.settings;
    const max = validate === undefined ? MAX_BODY_BYTES : MAX_KEPT_BODY_BYTES;
    const chunks: Buffer[] = [];
    let size = 0;
    let hasPermit = false;
    const began = monotonic();
    try {
      // After 101 another protocol follows.
      for await (const chunk of response.statusCode === 101 ? [] : (response as AsyncIterable<Buffer>)) {
        size += chunk.length;
        if (size > max) throw new Error(`it is longer than ${max} bytes`);
        if (validate === undefined) continue;
        chunks.push(chunk);
        if (size <= FREE_BODY_BYTES || hasPermit) continue;
        await keptBodies.acquire(abort);
        hasPermit = true;
      }
      // A body without a length ends with its connection, which also ends when the check is aborted.
      abort.throwIfAborted();
      phases.response = monotonic() - began;
      return { size, validationResults: validate?.(Buffer.concat(chunks)) ?? [], bodyError: undefined };
    } catch (error) {
      phases.response = monotonic() - began;
      return { size, validationResults: [], bodyError: isTimedOut(abort) ? abort.reason : (error as Error) };
    } finally {
      if (hasPermit) keptBodies.release();
    }
  }

  private ask(
    url: URL,
    method: string,
    headers: Readonly<Record<string, string>>,
    body: string,
    phases: CheckPhases,
    signal: AbortSignal,
  ): Promise<IncomingMessage> {
    const { tls, proxyUrl, monotonic } = this.settings;
    const { isSecure, host, port } = addressOfUrl(url);
    const proxy = proxyUrl === undefined ? proxyFromEnvironment(isSecure, host, port) : proxyOfUrl(proxyUrl);
    // A configured length could only contradict the body's real one.
    const length = body === "" ? {} : { "content-length": String(Buffer.byteLength(body)) };
    const all = { "user-agent": "sluice", ...headers, ...length };
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const request = openRequest({ url, method, headers: all, tls, proxy, signal });
      measure(request, phases, monotonic);
      request.on("error", reject);
      request.once("response", resolve);
      request.once("upgrade", (response, socket) => {
        socket.destroy();
        resolve(response);
      });
      request.end(body);
    });
  }
}

/** The user name and password of a URL as an authorization header. */
export function urlCredentials({ username, password }: URL): Readonly<Record<string, string>> {
  if (username === "" && password === "") return {};
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { authorization: `Basic ${Buffer.from(credentials).toString("base64")}` };
}

function measure(request: ClientRequest, phases: CheckPhases, monotonic: () => number): void {
  Object.assign(phases, { lookup: 0, connection: 0, handshake: 0, request: 0, response: 0 });
  let before = monotonic();
  const lap = (phase: keyof CheckPhases) => () => {
    const now = monotonic();
    phases[phase] = now - before;
    before = now;
  };
  request.once("socket", (socket: Socket) => {
    socket.once("lookup", lap("lookup"));
    socket.once("connect", lap("connection"));
    socket.once("secureConnect", lap("handshake"));
  });
  request.once("finish", lap("request"));
}

/** The error does not repeat the server's text, because it becomes a metric attribute. */
function redirected(location: string, from: URL): URL {
  const to = URL.canParse(location, from.href) ? new URL(location, from) : undefined;
  if (to?.protocol === "http:" || to?.protocol === "https:") return to;
  throw new Error("it was redirected to something other than an http URL");
}

function onlyContentType({ "content-type": type }: Readonly<Record<string, string>>): Record<string, string> {
  return type === undefined ? {} : { "content-type": type };
}

/** Header names must be in lower case. Headers that are undefined in `more` are removed. */
function merged(headers: Readonly<Record<string, string>>, more: AuthHeaders): Record<string, string> {
  const all = Object.entries({ ...headers, ...more });
  return Object.fromEntries(all.filter((header): header is [string, string] => header[1] !== undefined));
}

/** The URL without user name and password. */
export function bareUrl(url: URL): URL {
  const bare = new URL(url);
  bare.username = "";
  bare.password = "";
  return bare;
}
