import type { IncomingMessage } from "node:http";
import type { AuthHeaders, ClientAuthenticator } from "#contract";
import {
  addressOfUrl,
  connectionErrorMessage,
  loadClientTls,
  openRequest,
  proxyFromEnvironment,
  proxyOfUrl,
  readAnswer,
  renewClientTls,
  type TlsClientOptions,
} from "#net";
import { clientAuthenticator, sendAuthorized } from "#net/auth";
import { PointCollector, type ScrapeMoment, ScrapingReceiver } from "#receiving";
import { defineReceiver, isRefusal, type ReceiverContext, Refusal } from "../../plugin.js";
import { NGINX_METRICS, type NginxConfig, nginxSchema } from "./config.js";

/** Metrics about an nginx server, from the page of its module stub_status. */
export const nginxReceiver = defineReceiver<NginxConfig>({
  type: "nginx",
  summary: "Collects connections and requests of an nginx server from its stub_status page.",
  signals: ["metrics"],
  workers: "one",
  schema: nginxSchema,
  create: (config, context) => new NginxReceiver(config, context),
});

const MAX_PAGE_BYTES = 64 * 1024;

class NginxReceiver extends ScrapingReceiver<NginxConfig, typeof NGINX_METRICS> {
  private readonly startedMs: number;
  private readonly authenticator: ClientAuthenticator | undefined;
  private tls: TlsClientOptions = { rejectUnauthorized: true };

  constructor(config: NginxConfig, context: ReceiverContext) {
    super(config, context, { table: NGINX_METRICS, transport: "http" });
    this.authenticator = clientAuthenticator(config.auth ?? undefined, context);
    this.startedMs = context.clock.now();
  }

  protected override async open(): Promise<void> {
    const { tls } = this.config;
    if (tls !== undefined) this.tls = await loadClientTls(tls, ["tls"]);
  }

  protected override async collect({ abort }: ScrapeMoment): Promise<PointCollector[]> {
    const page = await this.page(abort);
    const status = parseStubStatus(page);
    if (status === undefined) throw new Error(`${this.shownUrl} is not a page of stub_status`);
    const points = new PointCollector(this.startedMs);
    const { output } = this;
    output.add(points, "nginx.requests", status.requests);
    output.add(points, "nginx.connections_accepted", status.accepted);
    output.add(points, "nginx.connections_handled", status.handled);
    for (const state of STATES) output.add(points, "nginx.connections_current", status[state], { state });
    return [points];
  }

  private get shownUrl(): string {
    const { origin, pathname } = this.config.endpoint;
    return `${origin}${pathname}`;
  }

  private page(abort: AbortSignal): Promise<string> {
    const { endpoint: url } = this.config;
    const { authenticator } = this;
    if (authenticator === undefined) return this.request({}, abort);
    const request = { method: "GET", url, headers: {}, body: Buffer.alloc(0) };
    return sendAuthorized(authenticator, request, url.origin, abort, (headers) => this.request(headers, abort));
  }

  private async request(more: AuthHeaders, abort: AbortSignal): Promise<string> {
    try {
      const response = await this.connect(more, abort);
      const body = await readAnswer(response, MAX_PAGE_BYTES);
      const { statusCode = 0 } = response;
      if (statusCode === 200) return body.toString("latin1");
      throw new Refusal("permanent", `${this.shownUrl} answered ${statusCode}`, { status: `HTTP ${statusCode}` });
    } catch (error) {
      const { tls } = this.config;
      if (tls !== undefined) await renewClientTls(this.tls, tls);
      if (isRefusal(error)) throw error;
      throw new Error(`${this.shownUrl}: ${connectionErrorMessage(error)}`, { cause: error });
    }
  }

  private connect(more: AuthHeaders, signal: AbortSignal): Promise<IncomingMessage> {
    const { endpoint: url, headers, proxy_url: proxyUrl } = this.config;
    const { isSecure, host, port } = addressOfUrl(url);
    const proxy = proxyUrl === undefined ? proxyFromEnvironment(isSecure, host, port) : proxyOfUrl(proxyUrl);
    return new Promise((resolve, reject) => {
      const request = openRequest({
        url,
        headers: { ...headers, ...(more as Record<string, string>) },
        tls: this.tls,
        proxy,
        signal,
      });
      request.on("response", resolve).on("error", reject).end();
    });
  }
}

const STATES = ["active", "reading", "writing", "waiting"] as const;

/** The numbers on the page. */
interface StubStatus extends Readonly<Record<(typeof STATES)[number], number>> {
  readonly accepted: number;
  readonly handled: number;
  readonly requests: number;
}

const PAGE =
  /^Active connections:\s+(\d+)\s+server accepts handled requests(?: request_time)?\s+(\d+)\s+(\d+)\s+(\d+)(?:\s+\d+)?\s+Reading:\s+(\d+)\s+Writing:\s+(\d+)\s+Waiting:\s+(\d+)\s*$/;

/** Returns undefined if the text is no such page. */
function parseStubStatus(text: string): StubStatus | undefined {
  const numbers = PAGE.exec(text)?.slice(1).map(Number);
  if (numbers === undefined) return undefined;
  const [active, accepted, handled, requests, reading, writing, waiting] = numbers as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  return { active, accepted, handled, requests, reading, writing, waiting };
}
