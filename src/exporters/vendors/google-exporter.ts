import { type Http1Answer, type HttpClientConfig, httpClientDefaults } from "#net";
import type { RenewedCredentials } from "#net/auth";
import { parseRetryAfter, refusalOfHttp } from "#net/otlp";
import { HttpPoster, plainText } from "#net/sending";
import { type Batch, type Exporter, type ExporterContext, Refusal, type SendOptions } from "../../plugin.js";
import { type GoogleToken, googleTokens } from "./google-credentials.js";
import {
  type Destination,
  type RefusedItems,
  type UnsendableRecords,
  VendorExporter,
  type VendorRequest,
} from "./vendor-exporter.js";

export interface GoogleSettings {
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
  /** Reads the error of a request of which only some items were refused. */
  readonly readItems?: (body: string) => readonly RefusedItems[] | undefined;
}

/** What is made of a batch once the project is known. */
type RequestsOf = (
  batch: Batch,
  project: string,
  to: (api: GoogleApi) => Destination,
) => readonly (VendorRequest | UnsendableRecords)[];

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
    const exporter = new VendorExporter([...destinations.values()], requestsOf);
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
      ...(hasQuotaProject && { "X-Goog-User-Project": project }),
    };
    const poster = new HttpPoster(new URL(`${api.endpoint}${api.pathOf(project)}`), client, headers, this.context);
    return {
      poster,
      compression: "gzip",
      headersOf: async () => ({ Authorization: `Bearer ${(await this.tokens.get()).token}` }),
      read: (answer) => this.read(answer, api),
    };
  }

  private read(answer: Http1Answer, api: GoogleApi): readonly RefusedItems[] | undefined {
    const { status, body, headers } = answer;
    if (status >= 200 && status < 300) return undefined;
    const refused = status < 500 ? api.readItems?.(body.toString("utf8")) : undefined;
    if (refused !== undefined) return refused;
    const message = /"message":\s*"((?:[^"\\]|\\.)*)"/.exec(body.toString("utf8"))?.[1] ?? plainText(body);
    if (status === 400 && LATE.test(message))
      throw new Refusal("permanent", `HTTP 400: ${message}`, { status: "HTTP 400", category: "business" });
    throw refusalOfHttp(
      status,
      message.slice(0, 300),
      parseRetryAfter(headers.get("retry-after"), this.context.clock.now()),
    );
  }
}

/** The API's words about points that come too late or too often. They are well-formed. */
const LATE = /written in order|more frequently|older than|too far in the (past|future)/i;

/** Returns the URL of an endpoint, which the Collector writes as host and port. */
export function endpointUrl(written: string, usual: string, isInsecure: boolean): string {
  const text = written === "" ? usual : written;
  if (/^https?:\/\//.test(text)) return text.replace(/\/$/, "");
  const [host, port] = text.split(":");
  return `${isInsecure ? "http" : "https"}://${host}${port === undefined || port === "443" ? "" : `:${port}`}`;
}
