/** A metric of a scraping receiver: its schema, its points and its docs are derived from this. */
export interface ScrapedMetric {
  readonly unit: string;
  readonly kind: "counter" | "upDown" | "gauge";
  readonly isInteger: boolean;
  /** True if the metric is off by default. */
  readonly isOptional?: true;
  /** Attributes that points have only if the config asks for them. */
  readonly optIn?: readonly string[];
  readonly description: string;
}

/** How points become one when the attributes in which they differ are left away. */
export type PointAggregation = "sum" | "avg" | "min" | "max";

/** The settings of one metric in a config. */
export interface MetricSelection {
  readonly enabled?: boolean;
  readonly attributes?: readonly string[];
  readonly aggregation_strategy?: PointAggregation;
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

export const optIn = (metric: ScrapedMetric, ...attributes: string[]): ScrapedMetric => ({
  ...metric,
  optIn: attributes,
});
