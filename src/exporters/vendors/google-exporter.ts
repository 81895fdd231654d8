import { type Http1Answer, type HttpClientConfig, httpClientDefaults } from "#net";
import type { RenewedCredentials } from "#net/auth";
import { type GoogleToken, googleTokens } from "#net/google";
import { parseRetryAfter, refusalOfHttp } from "#net/otlp";
import { HttpPoster, plainText } from "#net/sending";
import { type Batch, type Exporter, type ExporterContext, Refusal, type SendOptions } from "../../plugin.js";
import { type Destination, type RefusedItems, VendorExporter, type VendorPart } from "./vendor-exporter.js";

interface GoogleSettings {
  /** The project; empty for that of the credentials. */
  readonly project: string;
  readonly userAgent: string;
  /** Whether requests are charged to the project they go to. */
  readonly hasQuotaProject: boolean;
}

/** An API of Google: its URL for a project, and whether its host is configured. */
export interface GoogleApi {
  readonly endpoint: string;
  readonly pathOf: (project: string) => string;
  /** Returns the items that an error concerns; undefined if it does not name them. `refusal` is that of the request. */
  readonly readItems?: (error: GoogleError, refusal: Refusal) => readonly RefusedItems[] | undefined;
}

/** The error in an answer of Google's APIs. */
export interface GoogleError {
  readonly message: string;
  readonly details: readonly Readonly<Record<string, unknown>>[];
}

/** Makes the requests for a batch. Called when the project is known. */
type RequestsOf = (batch: Batch, project: string, to: (api: GoogleApi) => Destination) => readonly VendorPart[];

/** Sends to APIs of Google, with the token and project of Google's default credentials. */
export class GoogleExporter implements Exporter {
  private readonly settings: GoogleSettings;
  private readonly context: ExporterContext;
  private readonly apis: readonly GoogleApi[];
  private readonly requestsOf: RequestsOf;
  private readonly tokens: RenewedCredentials<GoogleToken>;
  /** Made when the project is known, which takes a request if the config has none. */
  private inner: Promise<VendorExporter> | undefined;

  constructor(settings: GoogleSettings, context: ExporterContext, apis: readonly GoogleApi[], requestsOf: RequestsOf) {
    this.settings = settings;
    this.context = context;
    this.apis = apis;
    this.requestsOf = requestsOf;
    this.tokens = googleTokens(context);
  }

  async send(batch: Batch, abort: AbortSignal, options?: SendOptions): Promise<undefined> {
    this.inner ??= this.connect();
    const inner = await this.inner.catch((error: unknown) => {
      this.inner = undefined; // the next attempt looks for credentials again
      throw error;
    });
    return inner.send(batch, abort, options);
  }

  async stop(): Promise<void> {
    await (await this.inner?.catch(() => undefined))?.stop();
  }

  private async connect(): Promise<VendorExporter> {
    const project = this.settings.project || (await this.tokens.get()).project;
    if (project === "")
      throw new Refusal("permanent", "the credentials name no project: write project", {
        status: "HTTP 401",
        category: "integration",
      });
    const destinations = new Map(this.apis.map((api) => [api, this.destinationOf(api, project)]));
    const requestsOf = (batch: Batch) => this.requestsOf(batch, project, (api) => destinations.get(api)!);
    const exporter = new VendorExporter([...destinations.values()], requestsOf, this.context);
    await exporter.start();
    return exporter;
  }

  private destinationOf(api: GoogleApi, project: string): Destination {
    const { userAgent, hasQuotaProject } = this.settings;
    const client: HttpClientConfig = httpClientDefaults();
    const headers = {
      "Content-Type": "application/json",
      "Content-Encoding": "gzip",
      "User-Agent": userAgent,
    };
    const poster = new HttpPoster(new URL(`${api.endpoint}${api.pathOf(project)}`), client, headers, this.context);
    return {
      poster,
      compression: "gzip",
      headersOf: async () => {
        const { token, quotaProject } = await this.tokens.get();
        const charged = hasQuotaProject ? project : quotaProject;
        return { Authorization: `Bearer ${token}`, ...(charged !== "" && { "X-Goog-User-Project": charged }) };
      },
      read: (answer) => this.read(answer, api),
    };
  }

  private read(answer: Http1Answer, api: GoogleApi): readonly RefusedItems[] | undefined {
    const { status, body, headers } = answer;
    if (status >= 200 && status < 300) return undefined;
    const error = errorIn(body);
    const text = error.message.slice(0, 300);
    const refusal =
      status === 400 && LATE.test(error.message)
        ? new Refusal("permanent", `HTTP 400: ${text}`, { status: "HTTP 400", category: "business" })
        : refusalOfHttp(status, text, parseRetryAfter(headers.get("retry-after"), this.context.clock.now()));
    const refused = api.readItems?.(error, refusal);
    if (refused !== undefined) return refused;
    throw refusal;
  }
}

function errorIn(body: Buffer): GoogleError {
  try {
    const { error } = JSON.parse(body.toString("utf8")) as { error?: Partial<GoogleError> };
    const { message = "", details = [] } = error ?? {};
    return { message: String(message), details: Array.isArray(details) ? details : [] };
  } catch {
    return { message: plainText(body), details: [] };
  }
}

/** The API's words about points that come too late or too often. They are well-formed. */
const LATE = /written in order|more frequently|older than|in the (past|future)/i;

/** More than a request has. */
const MAX_REFUSED = 200;

/**
 * Series are written apart from each other. The error names those that were refused by their places, as in
 * timeSeries[0-3,7]; the summary says how many points were written. If both do not agree, all may have been refused.
 */
export function refusedSeries(
  { message, details }: GoogleError,
  refusal: Refusal,
): readonly RefusedItems[] | undefined {
  const summary = details.find((each) => each["totalPointCount"] !== undefined);
  if (summary === undefined) return undefined;
  const items = new Set<number>();
  for (const [, list] of message.matchAll(/timeSeries\[([\d,\s-]{1,2000})\]/g))
    for (const range of list!.split(",")) {
      const [first, last = first] = range.trim().split("-").map(Number);
      for (let item = first!; item <= last! && items.size <= MAX_REFUSED; item++) items.add(item);
    }
  const failed = Number(summary["totalPointCount"]) - Number(summary["successPointCount"] ?? 0);
  return failed > 0 && items.size === failed ? [{ items: [...items], refusal }] : undefined;
}

/** Returns the URL of an endpoint, which the Collector writes as host and port. */
export function endpointUrl(written: string, usual: string, isInsecure: boolean): string {
  const text = written === "" ? usual : written;
  if (/^https?:\/\//.test(text)) return text.replace(/\/$/, "");
  const [host, port] = text.split(":");
  return `${isInsecure ? "http" : "https"}://${host}${port === undefined || port === "443" ? "" : `:${port}`}`;
}
