import { compilePattern } from "#text/patterns";
import { SliceTimer } from "#work";
import { type Batch, encodeTree, type Tree } from "../../plugin.js";
import type { StatsdConfig, StatsdMapping } from "./config.js";
import {
  CounterSamples,
  ExplicitSamples,
  ExponentialHistogramSamples,
  GaugeSamples,
  nanos,
  SingleSamples,
  type StatsdMetricData,
  type StatsdSamples,
  SummarySamples,
} from "./samples.js";
import { parseDescription, type StatsdDescription, type StatsdType, statsdNumber } from "./statsd-line.js";

/** A line without its value, and the samples of its series. If these are undefined, the value is dropped. */
interface KnownLine {
  readonly description: StatsdDescription;
  readonly samples: StatsdSamples | undefined;
}

interface StatsdSeries {
  readonly description: StatsdDescription;
  readonly samples: StatsdSamples;
}

/** The series of one sender. */
interface SenderSeries {
  readonly ip: string | undefined;
  /** By line without its value. Two lines may belong to the same series. */
  readonly lines: Map<string, KnownLine>;
  readonly series: Map<string, StatsdSeries>;
}

/** Points that are written between two looks at the clock. */
const POINTS_PER_BATCH = 2000;
/** Senders with batches of their own, which say whose they are. The others share one. */
const MAX_SENDER_BATCHES = 256;

/**
 * Samples of one interval. Lines are known by their text without the value, so that their tags are read once per
 * interval.
 */
export class StatsdAggregation {
  /** The number of series, lines and single samples held. */
  size = 0;
  /** The bytes that their names and tags take, here or when they are written. */
  bytes = 0;
  private readonly settings: AggregationSettings;
  private readonly startMs: number;
  private readonly senders = new Map<string, SenderSeries>();

  constructor(settings: AggregationSettings, startMs: number) {
    this.settings = settings;
    this.startMs = startMs;
  }

  /** Adds a line such as `orders:1|c`. Returns why it cannot be read, or undefined. */
  add(line: string, ip: string | undefined, port: number | undefined, nowMs: number): string | undefined {
    const bar = line.indexOf("|");
    const colon = line.indexOf(":");
    if (bar < 0 || colon < 0 || colon > bar) return "it is not of the form name:value|type";
    const text = line.slice(colon + 1, bar);
    const value = statsdNumber(text);
    if (Number.isNaN(value)) return "the value is not a finite number";
    // Joined, because a slice would keep the whole packet in memory.
    const known = this.lineOf(this.senderOf(ip, port), line.slice(0, colon) + line.slice(bar));
    if (typeof known === "string") return known;
    const { samples, description } = known;
    if (samples === undefined) return undefined;
    const sign = text.charCodeAt(0);
    const size = samples.add(value, description.weight, sign === PLUS || sign === MINUS, nowMs);
    if (size === 0) return undefined;
    this.size += size;
    this.bytes += size * line.length;
    return undefined;
  }

  /** Yields the batches with the address of their sender. Lets other work run in between. */
  async *batches(nowMs: number): AsyncGenerator<{ readonly batch: Batch; readonly ip: string | undefined }> {
    const times = { start: nanos(this.startMs), now: nanos(nowMs) };
    const timer = new SliceTimer();
    for (const [ip, senders] of this.sendersByIp()) {
      let trees: Tree[] = [];
      let points = 0;
      for (const { series } of senders) {
        const writer = new MetricTrees();
        for (const { description, samples } of series.values()) {
          const data = samples.metric(times);
          for (let at = 0; at < data.points.length; ) {
            const end = at + POINTS_PER_BATCH - points;
            points += writer.add(description, data, at, end);
            at = end;
            if (points < POINTS_PER_BATCH) continue;
            yield { batch: batchOf([...trees, writer.take()]), ip };
            [trees, points] = [[], 0];
            if (timer.isOver) await timer.nextSlice();
          }
        }
        if (!writer.isEmpty) trees.push(writer.take());
      }
      if (points > 0) yield { batch: batchOf(trees), ip };
      if (timer.isOver) await timer.nextSlice();
    }
  }

  private sendersByIp(): Map<string | undefined, SenderSeries[]> {
    const byIp = new Map<string | undefined, SenderSeries[]>();
    for (const sender of this.senders.values()) {
      const key = byIp.has(sender.ip) || byIp.size < MAX_SENDER_BATCHES ? sender.ip : undefined;
      const known = byIp.get(key);
      if (known === undefined) byIp.set(key, [sender]);
      else known.push(sender);
    }
    return byIp;
  }

  private senderOf(ip: string | undefined, port: number | undefined): SenderSeries {
    const { ignoresHost, ignoresPort } = this.settings;
    const key = ignoresHost ? "" : ignoresPort ? `${ip}` : `${ip} ${port}`;
    let sender = this.senders.get(key);
    if (sender === undefined) {
      sender = { ip: ignoresHost ? undefined : ip, lines: new Map(), series: new Map() };
      this.senders.set(key, sender);
      this.size += 1;
    }
    return sender;
  }

  private lineOf(sender: SenderSeries, text: string): KnownLine | string {
    let known = sender.lines.get(text);
    if (known !== undefined) return known;
    const description = parseDescription(text, this.settings);
    if (typeof description === "string") return description;
    known = { description, samples: this.samplesOf(sender, description) };
    sender.lines.set(text, known);
    this.size += 1;
    this.bytes += 4 * text.length;
    return known;
  }

  private samplesOf({ series }: SenderSeries, description: StatsdDescription): StatsdSamples | undefined {
    const { name, type, attributes } = description;
    const key = JSON.stringify([name, type, attributes]);
    const known = series.get(key);
    if (known !== undefined) return known.samples;
    const samples = this.settings.create(description);
    if (samples === undefined) return undefined;
    series.set(key, { description, samples });
    this.size += 1;
    return samples;
  }
}

const PLUS = 43;
const MINUS = 45;

interface AggregationSettings {
  readonly metricType: boolean;
  readonly simpleTags: boolean;
  readonly ignoresHost: boolean;
  readonly ignoresPort: boolean;
  /** Returns undefined for metrics that are not wanted. */
  readonly create: (description: StatsdDescription) => StatsdSamples | undefined;
}

export function aggregationSettings(config: StatsdConfig, random: () => number): AggregationSettings {
  const mappings = new Map<StatsdType, (name: string) => StatsdSamples>();
  for (const mapping of config.timer_histogram_mapping) {
    const isTimer = mapping.statsd_type === "timer" || mapping.statsd_type === "timing";
    const create = samplesFor(mapping);
    for (const type of isTimer ? (["ms"] as const) : (["h", "d"] as const)) mappings.set(type, create);
  }
  return {
    metricType: config.enable_metric_type,
    simpleTags: config.enable_simple_tags,
    ignoresHost: config.ignore_host,
    ignoresPort: config.enable_ip_only_aggregation,
    create({ name, type, timeSeconds }) {
      if (type === "g") return new GaugeSamples();
      if (type !== "c") return mappings.get(type)?.(name);
      return new CounterSamples(config.counter_type, config.is_monotonic_counter, random, timeSeconds);
    },
  };
}

const DEFAULT_SIZE = 160;
const DEFAULT_PERCENTILES = [0, 10, 50, 90, 95, 100];

function samplesFor({ observer_type: observer, histogram, summary }: StatsdMapping): (name: string) => StatsdSamples {
  if (observer === "gauge") return () => new SingleSamples();
  if (observer === "summary") return () => new SummarySamples(summary?.percentiles ?? DEFAULT_PERCENTILES);
  const explicit = (histogram?.explicit_buckets ?? []).map(({ matcher_pattern: pattern, buckets }) => ({
    matcher: compilePattern(pattern),
    buckets,
  }));
  return (name) => {
    const found = explicit.find(({ matcher }) => matcher.test(name));
    if (found !== undefined) return new ExplicitSamples(found.buckets);
    return new ExponentialHistogramSamples(histogram?.max_size ?? DEFAULT_SIZE);
  };
}

/** Metrics of one resource, with the points of all series of the same name and kind together. */
class MetricTrees {
  private metrics = new Map<string, { name: string; data: StatsdMetricData; dataPoints: object[] }>();

  get isEmpty(): boolean {
    return this.metrics.size === 0;
  }

  /** Adds some of the points. Returns their number. */
  add({ name, attributes }: StatsdDescription, data: StatsdMetricData, from: number, to: number): number {
    const key = `${data.field} ${name}`;
    let metric = this.metrics.get(key);
    if (metric === undefined) {
      metric = { name, data, dataPoints: [] };
      this.metrics.set(key, metric);
    }
    const keyValues = attributes.map(([key, stringValue]) => ({ key, value: { stringValue } }));
    const points = data.points.slice(from, to);
    for (const point of points) metric.dataPoints.push({ ...point, attributes: keyValues });
    return points.length;
  }

  take(): Tree {
    const metrics = [...this.metrics.values()].map(({ name, data, dataPoints }) => ({
      name,
      [data.field]: { dataPoints, ...data.rest },
    }));
    this.metrics = new Map();
    return { resource: {}, scopeMetrics: [{ scope: {}, metrics }] } as unknown as Tree;
  }
}

function batchOf(resourceMetrics: readonly Tree[]): Batch {
  return encodeTree("metrics", { resourceMetrics } as unknown as Tree);
}
