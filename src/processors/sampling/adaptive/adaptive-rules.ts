import { glob } from "#contract/schema";
import { SEVERITIES } from "#otlp/signals";
import type { Counter, Metrics } from "../../../plugin.js";
import { type AdaptiveSamplingConfig, type CompiledValueRule, compileValueRule } from "./config.js";
import type { RateFactor } from "./rate-factor.js";
import type { RateRules, RecordFacts } from "./rate-sampler.js";

interface Stratum {
  readonly name: string;
  readonly rate: number;
  kept: number;
  dropped: number;
  /** The sum of 1/rate over the kept records, which estimates how many arrived. */
  estimate: number;
  counters?: StratumCounters;
}

interface StratumCounters {
  readonly kept: Counter;
  readonly dropped: Counter;
  readonly estimate: Counter;
}

/**
 * Decides the rate of each record, in this order: exempt names and values are always kept; errors get the rate of their
 * severity, whatever the load; all others get the rate of their event, trace or severity, multiplied by the factor for
 * load and spikes.
 */
export class AdaptiveRules implements RateRules {
  private readonly rateFactor: RateFactor;
  private readonly values: readonly CompiledValueRule[];
  private readonly names: NameRules;
  private readonly exempt = newStratum("exempt", 1);
  private readonly byValue = newStratum("value", 1);
  private readonly severities: readonly Stratum[];
  private readonly spans = newStratum("span", 1);
  private readonly errorSpans: Stratum;
  private readonly inTrace: Stratum | undefined;
  private readonly isLogs: boolean;
  private current: Stratum = this.exempt;
  private errors = 0;

  constructor(signal: "logs" | "traces", config: AdaptiveSamplingConfig, rateFactor: RateFactor) {
    this.isLogs = signal === "logs";
    this.rateFactor = rateFactor;
    this.values = config.values.map(compileValueRule);
    this.names = new NameRules(config, this.exempt);
    const severityNames = ["unspecified", ...SEVERITIES] as const;
    this.severities = severityNames.map((name) => newStratum(`severity:${name}`, config.severity[name]));
    this.errorSpans = newStratum("span:error", config.severity.error);
    this.inTrace = config.trace_rate === undefined ? undefined : newStratum("trace", config.trace_rate);
  }

  rateOf(record: RecordFacts): number {
    const { isError } = record;
    if (isError) this.errors++;
    const named = this.names.stratumOf(record);
    if (named === this.exempt) return this.useStratum(named);
    for (let i = 0; i < this.values.length; i++) {
      const rule = this.values[i]!;
      if (rule.holds(record.value(rule.path))) return this.useStratum(this.byValue);
    }
    if (isError) return this.useStratum(this.isLogs ? this.severityOf(record) : this.errorSpans);
    const { traceFraction } = record;
    const traced = traceFraction < 0 ? undefined : this.inTrace;
    const base = this.useStratum(named ?? traced ?? (this.isLogs ? this.severityOf(record) : this.spans));
    return base === 0 ? 0 : Math.min(1, base * this.rateFactor.forTrace(traceFraction));
  }

  decided(rate: number, kept: boolean): void {
    if (kept) {
      this.current.kept++;
      this.current.estimate += 1 / rate;
    } else this.current.dropped++;
  }

  /** Adds the counts since the last call to the metrics and to the spike detection. */
  report(metrics: Metrics): void {
    if (this.errors > 0) this.rateFactor.addErrors(this.errors);
    this.errors = 0;
    const { exempt, byValue, spans, errorSpans, inTrace } = this;
    const all = [
      exempt,
      byValue,
      ...this.severities,
      spans,
      errorSpans,
      ...(inTrace ? [inTrace] : []),
      ...this.names.all,
    ];
    for (const one of all) if (one.kept + one.dropped > 0) publishCounts(one, metrics);
  }

  private useStratum(chosen: Stratum): number {
    this.current = chosen;
    return chosen.rate;
  }

  /** A record may contain any severity number; numbers out of range count as the nearest valid one. */
  private severityOf({ severity }: RecordFacts): Stratum {
    return this.severities[(Math.max(0, Math.min(24, severity)) + 3) >> 2]!;
  }
}

/**
 * Finds the rule of a name. The same few names occur again and again, so results are cached by the bytes of the name.
 */
class NameRules {
  readonly all: readonly Stratum[];
  private readonly rules: readonly { matches: (name: string) => boolean; stratum: Stratum }[];
  private readonly known = new Map<number, { readonly name: Uint8Array; readonly stratum: Stratum | undefined }>();

  constructor({ events, exempt }: AdaptiveSamplingConfig, exempted: Stratum) {
    const named = Object.entries(events).map(
      ([pattern, rate]) => [pattern, newStratum(`event:${pattern}`, rate)] as const,
    );
    this.all = named.map(([, one]) => one);
    this.rules = [
      ...exempt.map((pattern) => ({ matches: glob(pattern), stratum: exempted })),
      ...named.map(([pattern, one]) => ({ matches: glob(pattern), stratum: one })),
    ];
  }

  stratumOf(record: RecordFacts): Stratum | undefined {
    if (this.rules.length === 0) return undefined;
    const hash = record.nameHash;
    if (hash === 0) return undefined;
    const known = this.known.get(hash);
    if (known !== undefined && record.isNamed(known.name)) return known.stratum;
    const { name } = record;
    const found = this.rules.find(({ matches }) => matches(name))?.stratum;
    if (this.known.size >= MAX_KNOWN_NAMES) this.known.clear();
    if (name.length <= MAX_NAME_LENGTH) this.known.set(hash, { name: Buffer.from(name), stratum: found });
    return found;
  }
}

const MAX_KNOWN_NAMES = 10_000;
const MAX_NAME_LENGTH = 256;

function newStratum(name: string, rate: number): Stratum {
  return { name, rate, kept: 0, dropped: 0, estimate: 0 };
}

function publishCounts(one: Stratum, metrics: Metrics): void {
  one.counters ??= countersOf(one.name, metrics);
  if (one.kept > 0) one.counters.kept.add(one.kept);
  if (one.kept > 0) one.counters.estimate.add(one.estimate);
  if (one.dropped > 0) one.counters.dropped.add(one.dropped);
  one.kept = 0;
  one.dropped = 0;
  one.estimate = 0;
}

function countersOf(name: string, metrics: Metrics): StratumCounters {
  const decided = (sampled: string) =>
    metrics.counter("sluice_adaptive_sampling_records", RECORDS_OPTIONS, { stratum: name, sampled });
  return {
    kept: decided("true"),
    dropped: decided("false"),
    estimate: metrics.counter("sluice_adaptive_sampling_estimated_records", ESTIMATE_OPTIONS, { stratum: name }),
  };
}

const RECORDS_OPTIONS = { description: "Sampling decisions about records, by rule." };
const ESTIMATE_OPTIONS = {
  description: "Sum of 1/rate over the kept records: an estimate of how many records arrived.",
};
