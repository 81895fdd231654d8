import { z } from "zod";
import { byteSize, ignored } from "../../plugin.js";
import { discoveryKeys } from "./discovery/config.js";
import { httpClientConfigKeys } from "./http-config.js";
import { RELABEL_ACTIONS, type RelabelRule } from "./relabel.js";
import { list, patternText, prometheusDuration, text, textMap, wholePattern } from "./schema.js";

const SCRAPE_PROTOCOLS = [
  "PrometheusProto",
  "OpenMetricsText1.0.0",
  "OpenMetricsText0.0.1",
  "PrometheusText1.0.0",
  "PrometheusText0.0.4",
] as const;

export type ScrapeProtocol = (typeof SCRAPE_PROTOCOLS)[number];

const DEFAULT_PROTOCOLS: readonly ScrapeProtocol[] = [
  "OpenMetricsText1.0.0",
  "OpenMetricsText0.0.1",
  "PrometheusText1.0.0",
  "PrometheusText0.0.4",
];

/** The order that Prometheus uses when it scrapes native histograms. */
const NATIVE_PROTOCOLS: readonly ScrapeProtocol[] = ["PrometheusProto", ...DEFAULT_PROTOCOLS];

const DEFAULT_INTERVAL_MS = 60_000;
const DEFAULT_TIMEOUT_MS = 10_000;
/** Prometheus has no default limit; this one bounds the cost of an endless response. */
const DEFAULT_BODY_LIMIT = 256 * 1024 * 1024;

const limit = (what: string) =>
  z
    .number()
    .int()
    .nonnegative()
    .optional()
    .meta({ description: `${what}; 0: any number.` });

/** Keys of a job that `global` can set for all jobs. */
function sharedKeys() {
  return {
    scrape_interval: prometheusDuration()
      .optional()
      .meta({ description: "How often targets are scraped. Default: 1m." }),
    scrape_timeout: prometheusDuration()
      .optional()
      .meta({ description: "How long a scrape may take. Default: 10s, or the interval if that is shorter." }),
    scrape_protocols: z
      .array(z.enum(SCRAPE_PROTOCOLS))
      .min(1)
      .optional()
      .meta({ description: "The formats to accept, preferred ones first." }),
    body_size_limit: byteSize()
      .optional()
      .meta({ description: "The maximum size of an answer after decompression. Default: 256MiB; 0 means no limit." }),
    sample_limit: limit("A scrape with more samples, after metric_relabel_configs, fails"),
    target_limit: limit("With more targets than this, all scrapes of the job fail"),
    label_limit: limit("A series with more labels fails its scrape"),
    label_name_length_limit: limit("A series with a longer label name fails its scrape"),
    label_value_length_limit: limit("A series with a longer label value fails its scrape"),
    keep_dropped_targets: ignored("targets that rules drop are not kept"),
    scrape_failure_log_file: ignored("failures of scrapes are in the agent's log"),
    metric_name_validation_scheme: z
      .enum(["utf8", "legacy"])
      .optional()
      .meta({ description: "With legacy, targets are asked to escape names as with underscores. Default: utf8." }),
    metric_name_escaping_scheme: z
      .enum(["allow-utf-8", "underscores", "dots", "values"])
      .optional()
      .meta({ description: "How targets are asked to write names. Default: allow-utf-8." }),
    scrape_native_histograms: z.boolean().optional().meta({
      description: "Ask for protobuf first, unless scrape_protocols says otherwise: only it has native histograms.",
    }),
    convert_classic_histograms_to_nhcb: ignored("classic histograms become histograms of OTLP with their buckets"),
    always_scrape_classic_histograms: ignored("a histogram that is native and classic is read as a native one"),
    extra_scrape_metrics: ignored("use report_extra_scrape_metrics of the receiver"),
  };
}

export function globalKeys() {
  return {
    ...sharedKeys(),
    external_labels: textMap().meta({ description: "Labels added to every series." }),
    evaluation_interval: ignored("there are no rules to evaluate"),
    rule_query_offset: ignored("there are no rules to evaluate"),
    query_log_file: ignored("there are no queries"),
  };
}

const relabelSchema = z
  .strictObject({
    source_labels: list(z.string()).meta({ description: "Labels whose joined values are matched." }),
    separator: text().default(";").meta({ description: "The separator between them." }),
    target_label: z.string().default("").meta({ description: "The label that is set." }),
    regex: patternText().default("(.*)").meta({ description: "A pattern (RE2) that must match all of the value." }),
    modulus: z.number().int().positive().default(1).meta({ description: "For hashmod: the number of shards." }),
    replacement: text().default("$1").meta({ description: "The replacement; $1 is the first group of the pattern." }),
    action: z
      .string()
      .default("replace")
      .transform((word) => word.toLowerCase())
      .pipe(z.enum(RELABEL_ACTIONS))
      .meta({ description: "What is done." }),
  })
  .superRefine(({ action, target_label: target }, context) => {
    const needed = ["replace", "keepequal", "dropequal", "hashmod", "lowercase", "uppercase"].includes(action);
    if (needed && target === "") context.addIssue({ code: "custom", message: `${action} needs a target_label` });
  });

type RelabelConfig = z.infer<typeof relabelSchema>;

export function relabelRules(configs: readonly RelabelConfig[]): RelabelRule[] {
  return configs.map((config) => ({ ...config, regex: wholePattern(config.regex) }));
}

export const scrapeJobSchema = z.strictObject({
  job_name: text()
    .refine((name) => name !== "", "expected a name")
    .meta({ description: "The label job of its targets." }),
  ...sharedKeys(),
  honor_labels: z
    .boolean()
    .default(false)
    .meta({ description: "Labels of series take precedence over those of their target." }),
  honor_timestamps: z.boolean().default(true).meta({ description: "Keep the samples' own timestamps." }),
  track_timestamps_staleness: z
    .boolean()
    .default(false)
    .meta({ description: "Also report the end of series whose samples have their own timestamps." }),
  params: z
    .record(
      z.string(),
      z.preprocess((value) => (Array.isArray(value) ? value : [value]), z.array(text())),
    )
    .nullish()
    .meta({ description: "Parameters of the URL." }),
  metrics_path: z.string().default("/metrics").meta({ harmless: true, description: "The path of the URL." }),
  scheme: z.enum(["http", "https"]).default("http").meta({ description: "http or https." }),
  enable_compression: z.boolean().default(true).meta({ description: "Ask for gzip." }),
  fallback_scrape_protocol: z
    .enum(SCRAPE_PROTOCOLS)
    .default("PrometheusText0.0.4")
    .meta({ description: "The format of an answer without a Content-Type." }),
  relabel_configs: list(relabelSchema).meta({ description: "Rules on the labels of targets." }),
  metric_relabel_configs: list(relabelSchema).meta({ description: "Rules on the labels of series." }),
  native_histogram_bucket_limit: ignored("histograms are kept as they come"),
  native_histogram_min_bucket_factor: ignored("histograms are kept as they come"),
  scrape_classic_histograms: ignored("a histogram that is native and classic is read as a native one"),
  ...httpClientConfigKeys(),
  ...discoveryKeys(),
});

export type JobConfig = z.infer<typeof scrapeJobSchema>;

const globalSchema = z.strictObject(globalKeys());

type GlobalConfig = z.infer<typeof globalSchema>;

type NameSchemes = Pick<JobConfig, "metric_name_validation_scheme" | "metric_name_escaping_scheme">;

function escapingOf({ metric_name_validation_scheme: valid, metric_name_escaping_scheme: escaping }: NameSchemes) {
  return escaping ?? (valid === "legacy" ? "underscores" : undefined);
}

/** The effective config of a job, after `global` and the defaults. */
export function completeJob(job: JobConfig, global: GlobalConfig) {
  const interval = job.scrape_interval ?? global.scrape_interval ?? DEFAULT_INTERVAL_MS;
  const wantsNative = job.scrape_native_histograms ?? global.scrape_native_histograms ?? false;
  const shared = global.scrape_timeout ?? DEFAULT_TIMEOUT_MS;
  return {
    interval,
    timeout: job.scrape_timeout ?? Math.min(shared, interval),
    protocols: job.scrape_protocols ?? global.scrape_protocols ?? (wantsNative ? NATIVE_PROTOCOLS : DEFAULT_PROTOCOLS),
    escaping: escapingOf(job) ?? escapingOf(global) ?? "allow-utf-8",
    bodySizeLimit: job.body_size_limit ?? global.body_size_limit ?? DEFAULT_BODY_LIMIT,
    sampleLimit: job.sample_limit ?? global.sample_limit ?? 0,
    targetLimit: job.target_limit ?? global.target_limit ?? 0,
    labelLimit: job.label_limit ?? global.label_limit ?? 0,
    labelNameLengthLimit: job.label_name_length_limit ?? global.label_name_length_limit ?? 0,
    labelValueLengthLimit: job.label_value_length_limit ?? global.label_value_length_limit ?? 0,
  };
}

export type CompleteJob = ReturnType<typeof completeJob>;
