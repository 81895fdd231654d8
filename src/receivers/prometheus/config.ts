import { z } from "zod";
import { ignored, section, unsupported } from "../../plugin.js";
import { completeJob, globalKeys, scrapeJobSchema } from "./job-config.js";
import { list } from "./schema.js";

const SCRAPES_ONLY = "a receiver only scrapes; the pipeline's exporters get the results";

const prometheusSection = z.strictObject({
  global: section(z.strictObject(globalKeys())).prefault({}).meta({ description: "Defaults for all jobs." }),
  scrape_configs: list(scrapeJobSchema).meta({ description: "The scrape jobs." }),
  scrape_config_files: unsupported("write the jobs under scrape_configs"),
  alerting: unsupported(SCRAPES_ONLY),
  rule_files: unsupported(SCRAPES_ONLY),
  remote_write: unsupported("use the exporter prometheus_remote_write"),
  remote_read: unsupported(SCRAPES_ONLY),
  storage: unsupported(SCRAPES_ONLY),
  tracing: unsupported(SCRAPES_ONLY),
  otlp: unsupported(SCRAPES_ONLY),
  runtime: unsupported(SCRAPES_ONLY),
});

export const prometheusReceiverSchema = z
  .strictObject({
    config: section(prometheusSection)
      .prefault({})
      .meta({ description: "The contents of a Prometheus config: global and scrape_configs." }),
    trim_metric_suffixes: z.boolean().default(false).meta({
      description: "Remove _total and the unit from names; exporters to Prometheus append them again.",
    }),
    report_extra_scrape_metrics: z.boolean().default(false).meta({
      description:
        "Also report scrape_timeout_seconds, scrape_sample_limit and scrape_body_size_bytes of every scrape.",
    }),
    max_series: z.number().int().positive().default(1_000_000).meta({
      description:
        "The number of series of all targets together that are kept in memory; a scrape beyond it fails. Has no counterpart in the Collector.",
    }),
    use_start_time_metric: ignored(
      "start times come from the target if it reports them, otherwise from observed values",
    ),
    start_time_metric_regex: ignored(
      "start times come from the target if it reports them, otherwise from observed values",
    ),
    buffer_period: ignored("results are handed in at once"),
    buffer_count: ignored("results are handed in at once"),
    target_allocator: ignored(
      "the target allocator is not supported: write jobs, and divide targets among agents with the hashmod rule of relabel_configs",
    ),
    api_server: unsupported("use the admin API"),
    ignore_metadata: ignored("types are needed for the right kind of metric"),
  })
  .superRefine(({ config }, context) => {
    const names = config.scrape_configs.map(({ job_name }) => job_name);
    for (const [index, name] of names.entries()) {
      const path = ["config", "scrape_configs", index];
      const issue = (key: string, message: string) =>
        context.addIssue({ code: "custom", path: [...path, key], message });
      if (names.indexOf(name) !== index) issue("job_name", `there are two jobs called ${name}`);
      const { interval, timeout } = completeJob(config.scrape_configs[index]!, config.global);
      if (timeout > interval) issue("scrape_timeout", "the timeout of a scrape must not be longer than its interval");
    }
  });

export type PrometheusReceiverConfig = z.infer<typeof prometheusReceiverSchema>;
