/** A metric of a scraping receiver: its schema, its points and its docs are derived from this. */
export interface ScrapedMetric {
  readonly unit: string;
  readonly kind: "counter" | "upDown" | "gauge";
  readonly isInteger: boolean;
  /** True if the metric is off by default. */
  readonly isOptional?: true;
  readonly description: string;
}

/** Metrics by name. */
export type MetricTable = Readonly<Record<string, ScrapedMetric>>;

export const counter = (unit: string, description: string, isInteger = true): ScrapedMetric => ({
  unit,
  kind: "counter",
  isInteger,
  description,
});

export const upDown = (unit: string, description: string, isInteger = true): ScrapedMetric => ({
  unit,
  kind: "upDown",
  isInteger,
  description,
});

export const gauge = (unit: string, description: string, isInteger = false): ScrapedMetric => ({
  unit,
  kind: "gauge",
  isInteger,
  description,
});

export const optional = (metric: ScrapedMetric): ScrapedMetric => ({ ...metric, isOptional: true });
