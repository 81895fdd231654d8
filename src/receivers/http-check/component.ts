import { Semaphore } from "#contract/calls";
import { withoutUrlSecrets } from "#contract/schema";
import { connectionErrorMessage, loadClientTls } from "#net";
import { clientAuthenticator, isLocalHost } from "#net/auth";
import { PointCollector, type ScrapeMoment, ScrapingReceiver } from "#receiving";
import { isTimedOut, TimeoutError, withTimeout } from "#resilience";
import { defineReceiver } from "../../plugin.js";
import { certificateAttributes, secondsLeft } from "./certificate.js";
import { type CheckTargetConfig, HTTP_CHECK_METRICS, type HttpCheckConfig, httpCheckSchema } from "./config.js";
import { bareUrl, type CheckAnswer, type CheckPhases, HttpCheckClient, urlCredentials } from "./http-check-client.js";
import { AnswerBody, compileValidations, type Validation } from "./validations.js";

/** Checks whether HTTP servers answer, and how. */
export const httpCheckReceiver = defineReceiver<HttpCheckConfig>({
  type: "http_check",
  aliases: ["httpcheck"],
  summary: "Sends requests to HTTP servers at intervals, and measures whether, how and how fast they answer.",
  signals: ["metrics"],
  workers: "one",
  schema: httpCheckSchema,
  create: (config, context) => new HttpCheckReceiver(config, context, { table: HTTP_CHECK_METRICS, transport: "http" }),
});

interface CheckedEndpoint {
  /** The URL as written, without credentials and anything else that looks like a secret; metrics repeat it. */
  readonly url: string;
  readonly method: string;
  readonly timeoutMs: number;
  readonly validations: readonly Validation[];
  readonly client: HttpCheckClient;
}

/** Each check in progress holds an open connection. */
const MAX_CHECKS = 128;
/** The number of large bodies kept in memory at a time for validations. */
const MAX_KEPT_BODIES = 8;
const DEFAULT_TIMEOUT_MS = 30_000;
const STATUS_CLASSES = [1, 2, 3, 4, 5];
const NS_PER_MS = 1_000_000;
/** A reason becomes an attribute and may contain text from the server. */
const MAX_REASON_LENGTH = 300;

class HttpCheckReceiver extends ScrapingReceiver<HttpCheckConfig, typeof HTTP_CHECK_METRICS> {
  private readonly keptBodies = new Semaphore(MAX_KEPT_BODIES);
  private endpoints: readonly CheckedEndpoint[] = [];

  protected override async open(): Promise<void> {
    const targets = this.config.targets.map((target, index) => this.endpointsOf(target, ["targets", String(index)]));
    this.endpoints = (await Promise.all(targets)).flat();
    this.warnAboutDuplicateUrls();
  }

  private async endpointsOf(target: CheckTargetConfig, path: readonly string[]): Promise<CheckedEndpoint[]> {
    const { endpoint, endpoints, method, body, timeout, proxy_url: proxyUrl } = target;
    const authenticator = clientAuthenticator(target.auth, this.context);
    const tls = target.tls ? await loadClientTls(target.tls, [...path, "tls"]) : { rejectUnauthorized: true };
    const validations = compileValidations(target.validations);
    const written = new Set(endpoint === undefined ? endpoints : [...endpoints, endpoint]);
    return [...written].map((text) => {
      const url = new URL(text);
      const shown = withoutUrlSecrets(withoutCredentials(text, url));
      const { clock, logger } = this.context;
      if (authenticator?.isConfidential && url.protocol === "http:" && !isLocalHost(url.hostname))
        logger.warn({ url: shown }, "credentials are sent without TLS: anyone on the network can read them");
      const headers = { ...urlCredentials(url), ...headersOf(target) };
      const monotonic = () => clock.monotonic();
      const { keptBodies } = this;
      const client = new HttpCheckClient({
        url,
        method,
        headers,
        body,
        tls,
        proxyUrl,
        authenticator,
        monotonic,
        keptBodies,
      });
      return { url: shown, method, timeoutMs: timeout || DEFAULT_TIMEOUT_MS, validations, client };
    });
  }

  private warnAboutDuplicateUrls(): void {
    const known = new Set<string>();
    for (const { url, method } of this.endpoints) {
      const key = `${method} ${url}`;
      if (known.has(key)) this.context.logger.warn({ url, method }, DUPLICATE_URLS);
      known.add(key);
    }
  }

  protected override async collect(moment: ScrapeMoment): Promise<PointCollector[]> {
    const points = new PointCollector(moment.now);
    const waiting = this.endpoints.values();
    const work = async () => {
      for (const endpoint of waiting)
        await this.check(endpoint, points, moment).catch((error: unknown) => moment.failed(endpoint.url, error));
    };
    await Promise.all(Array.from({ length: Math.min(MAX_CHECKS, this.endpoints.length) }, work));
    return [points];
  }

  /** A check that is interrupted by the agent's shutdown says nothing about the server and is not counted. */
  private async check(endpoint: CheckedEndpoint, points: PointCollector, moment: ScrapeMoment): Promise<void> {
    const { abort } = moment;
    const { clock } = this.context;
    const { url, timeoutMs, client, validations } = endpoint;
    const phases: CheckPhases = { lookup: 0, connection: 0, handshake: 0, request: 0, response: 0 };
    const began = clock.monotonic();
    const validate = validations.length === 0 ? undefined : bodyValidator(validations);
    let answer: CheckAnswer | undefined;
    let reason = "";
    try {
      answer = await withTimeout(timeoutMs, clock, [abort], (signal) => client.check(phases, validate, signal));
    } catch (error) {
      reason = error instanceof TimeoutError ? error.message : connectionErrorMessage(error);
    }
    if (abort.aborted && !isTimedOut(abort)) return;
    if (isTimedOut(abort)) reason = "no answer within the time of a collection";
    this.add(points, url, "httpcheck.duration", Math.trunc(clock.monotonic() - began));
    this.addPhases(points, url, phases);
    this.addStatus(points, endpoint, answer?.status ?? 0);
    if (answer === undefined)
      this.add(points, url, "httpcheck.error", 1, { "error.message": reason.slice(0, MAX_REASON_LENGTH) });
    else {
      this.addAnswer(points, endpoint, answer);
      if (answer.bodyError !== undefined) moment.failed(url, new Error(`body: ${reason || answer.bodyError.message}`));
    }
  }

  private addStatus(points: PointCollector, { url, method }: CheckedEndpoint, status: number): void {
    for (const each of STATUS_CLASSES) {
      const isOf = Math.trunc(status / 100) === each;
      this.add(points, url, "httpcheck.status", isOf ? 1 : 0, {
        ...(isOf && { "http.status_code": status }),
        "http.method": method,
        "http.status_class": `${each}xx`,
      });
    }
  }

  private addPhases(points: PointCollector, url: string, phases: CheckPhases): void {
    const ns = (ms: number) => Math.round(ms * NS_PER_MS);
    this.add(points, url, "httpcheck.dns.lookup.duration", ns(phases.lookup));
    this.add(points, url, "httpcheck.client.connection.duration", ns(phases.connection), {
      "network.transport": "tcp",
    });
    this.add(points, url, "httpcheck.tls.handshake.duration", ns(phases.handshake));
    this.add(points, url, "httpcheck.client.request.duration", ns(phases.request));
    this.add(points, url, "httpcheck.response.duration", ns(phases.response));
  }

  private addAnswer(points: PointCollector, { url, validations }: CheckedEndpoint, answer: CheckAnswer): void {
    const { certificate, bodyError, size, validationResults } = answer;
    if (bodyError === undefined) this.add(points, url, "httpcheck.response.size", size);
    if (certificate !== undefined && this.output.wants("httpcheck.tls.cert_remaining")) {
      const left = secondsLeft(certificate, this.context.clock.now());
      this.add(points, url, "httpcheck.tls.cert_remaining", left, certificateAttributes(certificate));
    }
    const counts = { passed: new Map<string, number>(), failed: new Map<string, number>() };
    for (const [index, { type }] of validations.entries()) {
      // An incomplete body counts as failed.
      const count = counts[validationResults[index] === true ? "passed" : "failed"];
      count.set(type, (count.get(type) ?? 0) + 1);
    }
    for (const outcome of ["passed", "failed"] as const)
      for (const [type, count] of counts[outcome])
        this.add(points, url, `httpcheck.validation.${outcome}`, count, { "validation.type": type });
  }

  private add(
    points: PointCollector,
    url: string,
    name: keyof typeof HTTP_CHECK_METRICS,
    value: number,
    attributes: Parameters<PointCollector["add"]>[3] = {},
  ): void {
    this.output.add(points, name, value, { "http.url": url, ...attributes });
  }
}

function bodyValidator(validations: readonly Validation[]) {
  return (bytes: Buffer) => {
    const body = new AnswerBody(bytes);
    return validations.map(({ passes }) => passes(body));
  };
}

const DUPLICATE_URLS =
  "several checks have the same URL in their metrics once secrets are removed: their points cannot be distinguished";

/** Keeps the text as written if the credentials can be cut out of it. */
function withoutCredentials(text: string, url: URL): string {
  if (url.username === "" && url.password === "") return text;
  const rest = text.replace(/^([a-z]+:\/\/)[^/?#]*@/i, "$1");
  const { href } = bareUrl(url);
  return URL.canParse(rest) && new URL(rest).href === href ? rest : href;
}

/** Headers about a body's framing, which the client sets itself. */
const FRAMING = new Set(["content-length", "transfer-encoding"]);

/** Keyed by lower-case name. */
function headersOf({ headers, body, auto_content_type: isAutomatic }: CheckTargetConfig): Record<string, string> {
  const lowerCase = Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value] as const);
  const written = Object.fromEntries(lowerCase.filter(([name]) => !FRAMING.has(name)));
  return isAutomatic && body !== "" ? { "content-type": contentTypeOfText(body), ...written } : written;
}

function contentTypeOfText(body: string): string {
  if (/^\s*[[{]/.test(body)) return "application/json";
  return body.includes("=") ? "application/x-www-form-urlencoded" : "text/plain";
}
