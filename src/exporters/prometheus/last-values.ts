import { PointReader, SeriesTable } from "#metrics";
import { type MetricData, type MetricVisitor, walkMetrics } from "#otlp/views";
import type { PartialRejection } from "../../plugin.js";
import { labelText } from "./exposition-text.js";
import { ExposedFamily, ExposedSeries } from "./families.js";
import { type MetricOwner, OwnerReader, type OwnerSettings, type ResourceOwner } from "./owners.js";

interface LastValuesSettings extends OwnerSettings {
  readonly maxSeries: number;
  readonly expireAfterMs: number;
  /** Exemplars are kept only if a format shows them. */
  readonly keepExemplars: boolean;
}

/** Keys checked per step when expired series are removed. */
const SWEEP_KEYS = 5000;

/**
 * The last value of every series, as a scrape shows it. Deltas are added up. Points that cannot be shown are reported
 * as rejected with the reason, so nothing disappears between the sender and the page.
 *
 * Two series with the same Prometheus name and labels are one here, whatever attributes they had.
 */
export class LastValues implements MetricVisitor {
  readonly families = new Map<string, ExposedFamily>();
  private readonly settings: LastValuesSettings;
  private readonly owners: OwnerReader;
  private readonly table: SeriesTable<ExposedSeries>;
  private readonly point$ = new PointReader();
  private resource$: ResourceOwner | undefined;
  private scope$: ReturnType<OwnerReader["scope"]> | undefined;
  private metric$: MetricOwner | undefined;
  private now = 0;
  private rejected = 0;
  private message = "";

  constructor(settings: LastValuesSettings) {
    this.settings = settings;
    this.owners = new OwnerReader(settings);
    this.table = new SeriesTable<ExposedSeries>({
      maxSeries: settings.maxSeries,
      expireAfterMs: settings.expireAfterMs,
      release: (series) => this.release(series),
    });
  }

  get size(): number {
    return this.table.size;
  }

  /** Takes in a metrics request. `now` is a monotonic time. */
  update(bytes: Uint8Array, now: number): PartialRejection | undefined {
    this.now = now;
    this.rejected = 0;
    walkMetrics(bytes, this);
    return this.rejected === 0 ? undefined : { rejected: this.rejected, message: this.message };
  }

  /** Removes some expired series. Returns false if there are more to check. */
  sweep(now: number): boolean {
    return this.table.sweep(now, SWEEP_KEYS);
  }

  /** Returns the earliest last-seen time of series that are still shown. */
  shownSince(now: number): number {
    const { expireAfterMs } = this.settings;
    return expireAfterMs === 0 ? Number.NEGATIVE_INFINITY : now - expireAfterMs;
  }

  resource(b: Uint8Array, start: number, end: number): void {
    this.resource$ = this.owners.resource(b, start, end);
  }

  scope(b: Uint8Array, start: number, end: number, urlStart: number, urlEnd: number): void {
    this.scope$ = this.owners.scope(this.resource$!, b, start, end, urlStart, urlEnd);
  }

  metric(b: Uint8Array, start: number, end: number, data: MetricData): void {
    this.metric$ = this.owners.metric(this.scope$!, b, start, end, data);
  }

  point(b: Uint8Array, start: number, end: number): void {
    const metric = this.metric$!;
    if (metric.problem !== undefined) return this.reject(metric, metric.problem);
    const { point$: point } = this;
    point.read(b, start, end, metric.dataTag);
    const { bytes, start: keyStart, end: keyEnd } = point.attributes;
    if (point.hasNoValue) return this.end(metric, bytes, keyStart, keyEnd);
    const series = this.find(metric, bytes, keyStart, keyEnd);
    if (series === undefined) return;
    series.seenAt = this.now;
    if (series.update(point, metric, b, this.settings.keepExemplars)) return;
    if (metric.isDelta) this.reject(metric, "a delta that is not newer than the last one");
  }

  private find(metric: MetricOwner, b: Uint8Array, start: number, end: number): ExposedSeries | undefined {
    const known = this.table.find(metric.id, b, start, end, this.now);
    if (known !== undefined && !known.isGone) return known;
    if (known !== undefined) this.table.delete(metric.id, b, start, end);
    return this.create(metric, b, start, end);
  }

  private create(metric: MetricOwner, b: Uint8Array, start: number, end: number): ExposedSeries | undefined {
    if (!this.table.hasRoom(this.now)) {
      this.table.overflows++;
      this.reject(metric, `there is no room for more series than ${this.settings.maxSeries} (max_series)`);
      return undefined;
    }
    const family = this.family(metric);
    if (family.type !== metric.type) {
      this.reject(metric, `another metric with the name ${metric.name} is a ${family.type}, not a ${metric.type}`);
      return undefined;
    }
    const text = labelText(this.owners.labels(metric, b, start, end));
    let series = family.series.get(text);
    if (series === undefined) family.series.set(text, (series = new ExposedSeries(family, text, metric.resource)));
    series.keys++;
    return this.table.add(metric.id, b, start, end, this.now, series);
  }

  private family(metric: MetricOwner): ExposedFamily {
    const known = this.families.get(metric.name);
    if (known !== undefined) return known;
    const family = new ExposedFamily(metric.name, metric.type, metric.help);
    this.families.set(metric.name, family);
    return family;
  }

  /** Ends the series, as the sender requested. */
  private end(metric: MetricOwner, b: Uint8Array, start: number, end: number): void {
    const series = this.table.find(metric.id, b, start, end, this.now);
    if (series === undefined) return;
    this.forget(series);
    this.table.delete(metric.id, b, start, end);
  }

  private release(series: ExposedSeries): void {
    if (--series.keys === 0) this.forget(series);
  }

  private forget(series: ExposedSeries): void {
    const { family } = series;
    if (series.isGone) return;
    series.isGone = true;
    family.series.delete(series.labels);
    if (family.series.size === 0) this.families.delete(family.name);
  }

  private reject({ originalName }: MetricOwner, why: string): void {
    if (this.rejected++ === 0) this.message = `${originalName}: ${why}`;
  }
}
