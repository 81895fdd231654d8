import type { FamilyMetadata, ScrapedScope } from "./series/metrics.js";
import { encodeAttributes } from "./series/metrics.js";
import { attributesOf, type ScrapeSeries } from "./series/scrape-series.js";

/** Metrics about a scrape; a value is undefined if it is not reported. */
interface ScrapeReport {
  readonly up: number;
  readonly scrape_duration_seconds: number;
  readonly scrape_samples_scraped: number;
  readonly scrape_samples_post_metric_relabeling: number;
  readonly scrape_series_added: number;
  readonly scrape_timeout_seconds?: number;
  readonly scrape_sample_limit?: number;
  readonly scrape_body_size_bytes?: number;
}

const HELP: Readonly<Record<keyof ScrapeReport, readonly [help: string, unit?: string]>> = {
  up: ["The scraping was successful"],
  scrape_duration_seconds: ["Duration of the scrape", "seconds"],
  scrape_samples_scraped: ["The number of samples the target exposed"],
  scrape_samples_post_metric_relabeling: ["The number of samples remaining after metric relabeling was applied"],
  scrape_series_added: ["The approximate number of new series in this scrape"],
  scrape_timeout_seconds: ["The configured timeout of the scrape", "seconds"],
  scrape_sample_limit: ["The configured limit of samples of the scrape"],
  scrape_body_size_bytes: ["The size of the answer when it was unpacked", "bytes"],
};

/** Adds the points of the report to those of the scrape. */
export class ScrapeReports {
  private readonly series: ScrapeSeries;
  private readonly owner: ScrapedScope;
  private readonly attributes: Uint8Array;
  private readonly slots = new Map<string, number>();

  constructor(series: ScrapeSeries, labels: Iterable<readonly [string, string]>) {
    this.series = series;
    const own = new Map(labels);
    this.owner = series.owners.owner(series.owners.resource(own), own);
    this.attributes = Buffer.from(encodeAttributes(attributesOf(own), 58));
  }

  add(report: ScrapeReport): void {
    for (const [name, value] of Object.entries(report)) {
      if (value !== undefined) this.series.points.push(this.slotOf(name as keyof ScrapeReport), value, Number.NaN);
    }
  }

  /** Called when the target is no longer scraped. */
  end(): void {
    for (const slot of this.slots.values()) this.series.points.push(~slot, 0, Number.NaN);
  }

  private slotOf(name: keyof ScrapeReport): number {
    const known = this.slots.get(name);
    if (known !== undefined) return known;
    const [help, unit = ""] = HELP[name];
    const family: FamilyMetadata = { type: "gauge", help, unit, version: 0 };
    const slot = this.series.pointSeries.slotOf(
      this.series.owners.metric(this.owner, name, "gauge", family),
      this.attributes,
    );
    this.series.pointSeries.lines[slot]!++; // counts as a line, because no line of the target keeps the series
    this.slots.set(name, slot);
    return slot;
  }
}
