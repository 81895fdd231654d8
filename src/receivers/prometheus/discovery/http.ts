import { readAnswer } from "#net";
import { withTimeout } from "#resilience";
import type { ScrapeHttpClient } from "../http-client.js";
import type { Labels } from "../relabel.js";
import { readTargetGroups, targetsOf } from "./discovery.js";
import { type DiscoveryServices, PolledDiscovery } from "./polled-discovery.js";

const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
const TIMEOUT_MS = 30_000;

/** Gets targets as JSON from a server. */
export class HttpDiscovery extends PolledDiscovery {
  private readonly url: URL;
  private readonly client: ScrapeHttpClient;
  private readonly refreshMs: number;

  constructor(url: URL, client: ScrapeHttpClient, refreshMs: number, services: DiscoveryServices) {
    super(refreshMs, services);
    this.url = url;
    this.client = client;
    this.refreshMs = refreshMs;
  }

  protected override async find(abort: AbortSignal): Promise<readonly Labels[] | undefined> {
    try {
      const text = await withTimeout(TIMEOUT_MS, this.services.clock, [abort], (signal) => this.ask(signal));
      return targetsOf(readTargetGroups(JSON.parse(text)), { __meta_url: this.url.href });
    } catch (error) {
      if (!abort.aborted) this.services.onError(`${this.url.origin}${this.url.pathname}`, error);
      return undefined;
    }
  }

  override async stop(): Promise<void> {
    await super.stop();
    this.client.close();
  }

  private async ask(abort: AbortSignal): Promise<string> {
    const headers = {
      Accept: "application/json",
      "User-Agent": "sluice",
      "X-Prometheus-Refresh-Interval-Seconds": String(this.refreshMs / 1000),
    };
    const response = await this.client.get(this.url, headers, abort);
    try {
      if (response.statusCode !== 200) throw new Error(`it answered HTTP ${response.statusCode}`);
      return (await readAnswer(response, MAX_ANSWER_BYTES)).toString("utf8");
    } finally {
      if (!response.complete) response.destroy();
    }
  }
}
