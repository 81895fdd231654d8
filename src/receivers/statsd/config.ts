import { z } from "zod";
import { parseHostPort } from "#net";
import { compilePattern } from "#text/patterns";
import { byteSize, duration, ignored, section } from "../../plugin.js";

/** Limits of the exponential histograms of the Collector. */
const MIN_BUCKETS = 2;
const MAX_BUCKETS = 16_384;
const DEFAULT_BUCKETS = 160;
const DEFAULT_PERCENTILES = [0, 10, 50, 90, 95, 100];

const explicitBuckets = z.strictObject({
  matcher_pattern: z
    .string()
    .min(1, "expected a pattern")
    .superRefine((source, context) => {
      try {
        compilePattern(source);
      } catch (error) {
        context.addIssue({ code: "custom", message: `not a pattern: ${(error as Error).message}` });
      }
    })
    .meta({ description: "Names of metrics with these buckets, as an RE2 pattern." }),
  buckets: z
    .array(z.number())
    .min(1, "expected at least one bound")
    .refine((bounds) => bounds.every((bound, i) => i === 0 || bounds[i - 1]! < bound), "expected ascending bounds")
    .meta({ description: "Upper bounds of the buckets." }),
});

const histogram = z.strictObject({
  max_size: z
    .number()
    .int()
    .refine((size) => size === 0 || (size >= MIN_BUCKETS && size <= MAX_BUCKETS), "expected 2 to 16384, or 0")
    .default(0)
    .transform((size) => size || DEFAULT_BUCKETS)
    .meta({ description: "Buckets of an exponential histogram, on each side of zero; 0 means 160." }),
  explicit_buckets: z
    .array(explicitBuckets)
    .nullish()
    .transform((list) => list ?? [])
    .meta({ description: "Metrics that become histograms with given buckets; the first match counts." }),
});

const summary = z.strictObject({
  percentiles: z
    .array(z.number().min(0, "expected 0 to 100").max(100, "expected 0 to 100"))
    .nullish()
    .transform((list) => (list?.length ? list : DEFAULT_PERCENTILES))
    .meta({ description: "Percentiles of a summary. Default: 0, 10, 50, 90, 95, 100." }),
});

const mapping = z
  .strictObject({
    statsd_type: z
      .enum(["timing", "timer", "histogram", "distribution"])
      .meta({ description: "The kind of sample. timer is timing; histogram and distribution share one mapping." }),
    observer_type: z
      .enum(["gauge", "summary", "histogram"])
      .meta({ description: "What samples become: one gauge point each, a summary, or a histogram." }),
    histogram: section(histogram).optional().meta({ description: "Buckets; with observer_type histogram." }),
    summary: section(summary).optional().meta({ description: "Percentiles; with observer_type summary." }),
  })
  .superRefine(({ observer_type: observer, histogram: buckets, summary: percentiles }, context) => {
    const isMisplaced = (key: "histogram" | "summary", value: unknown) => value !== undefined && observer !== key;
    if (isMisplaced("histogram", buckets)) {
      const message = "histogram needs observer_type: histogram";
      context.addIssue({ code: "custom", path: ["histogram"], message });
    }
    if (isMisplaced("summary", percentiles)) {
      const message = "summary needs observer_type: summary";
      context.addIssue({ code: "custom", path: ["summary"], message });
    }
  });

const flag = (description: string) => z.boolean().default(false).meta({ description });

export const statsdSchema = z
  .strictObject({
    endpoint: z
      .string()
      .default("localhost:8125")
      .meta({ description: "Where to listen: host:port, or the path of a socket with transport unix." }),
    transport: z
      .string()
      .toLowerCase()
      .superRefine((name, context) => {
        if (!TRANSPORTS.includes(name)) context.addIssue({ code: "custom", message: transportProblem(name) });
      })
      .default("udp")
      .meta({ description: "udp, udp4, udp6, tcp, tcp4, tcp6, or unix: a stream socket." }),
    aggregation_interval: duration()
      .refine((ms) => ms >= 1, "expected a millisecond or more")
      .default(60_000)
      .meta({ description: "How long samples are aggregated before they are handed on." }),
    enable_metric_type: flag("Add the type of each metric as the attribute metric_type."),
    enable_simple_tags: flag("Accept tags without a value; they get an empty one."),
    enable_ip_only_aggregation: flag("Aggregate by the sender's address alone, without its port."),
    ignore_host: flag("Aggregate the samples of all senders together."),
    is_monotonic_counter: flag("Counters become monotonic sums."),
    counter_type: z.enum(["int", "float", "stochastic_int"]).default("int").meta({
      description:
        "How counters are kept: cut to integers, with fractions, or rounded at random so that sums are right on average.",
    }),
    timer_histogram_mapping: z
      .array(mapping)
      .nullish()
      .transform((list) => list ?? DEFAULT_MAPPING)
      .meta({ description: "What timers, histograms and distributions become; those not named are dropped." }),
    max_series: z.number().int().positive().max(1_000_000).default(20_000).meta({
      description:
        "Series and single samples that are held; at that number all are handed on before the interval ends.",
    }),
    max_line_size: byteSize()
      .refine((size) => size >= 256 && size <= 1024 * 1024, "expected 256B to 1MiB")
      .default(64 * 1024)
      .meta({ description: "The longest line over TCP; a longer one is skipped." }),
    socket_permissions: ignored("only sockets of the transport unixgram have them"),
    socket_buffer_size: ignored("only sockets of the transport unixgram have it"),
  })
  .superRefine(({ endpoint, transport }, context) => {
    const isRight = transport === "unix" ? endpoint.startsWith("/") : parseHostPort(endpoint) !== undefined;
    const expected = transport === "unix" ? "the path of a socket" : "host:port such as 127.0.0.1:8125";
    if (!isRight) context.addIssue({ code: "custom", path: ["endpoint"], message: `expected ${expected}` });
  });

const TRANSPORTS = ["udp", "udp4", "udp6", "tcp", "tcp4", "tcp6", "unix"];

const DEFAULT_MAPPING: readonly StatsdMapping[] = (["timer", "histogram"] as const).map((statsd_type) => ({
  statsd_type,
  observer_type: "gauge",
}));

function transportProblem(name: string): string {
  if (name !== "unixgram") return `expected one of ${TRANSPORTS.join(", ")}`;
  return "Node.js has no datagram sockets of this kind: use udp, or unix with a client that can use stream sockets";
}

export type StatsdMapping = z.infer<typeof mapping>;
export type StatsdConfig = z.infer<typeof statsdSchema>;
