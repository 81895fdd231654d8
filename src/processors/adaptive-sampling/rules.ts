import { type Counter, glob, type Metrics, type RateRules, type RecordFacts } from "../../plugin.js";
import { type AdaptiveConfig, type CompiledValueRule, compileValueRule, SEVERITIES } from "./config.js";
import type { Pressure } from "./pressure.js";

interface Stratum {
  readonly name: string;
  readonly rate: number;
  kept: number;
  dropped: number;
  /** The sum of 1/rate over what was kept: an estimate of what came. */
  estimate: number;
  counters?: StratumCounters;
}

interface StratumCounters {
  readonly kept: Counter;
  readonly dropped: Counter;
  readonly estimate: Counter;
}

/**
 * Which rate a record has. In this order: exempt names and values are kept; errors have the rate of their severity,
 * whatever the load; then the rates of events, of traces and of severities, times the factor of load and spikes.
 */
export class AdaptiveRules implements RateRules {
  private readonly pressure: Pressure;
  private readonly values: readonly CompiledValueRule[];
  private readonly names: NameRules;
  private readonly exempt = stratum("exempt", 1);
  private readonly valued = stratum("value", 1);
  private readonly severities: readonly Stratum[];
  private readonly spans = stratum("span", 1);
  private readonly erroneous: Stratum;
  private readonly traced: Stratum | undefined;
  private readonly isLogs: boolean;
  private present: Stratum = this.exempt;
  private errors = 0;

  constructor(signal: "logs" | "traces", config: AdaptiveConfig, pressure: Pressure) {
    this.isLogs = signal === "logs";
    this.pressure = pressure;
    this.values = config.values.map(compileValueRule);
    this.names = new NameRules(config, this.exempt);
    const ofSeverity = ["unspecified", ...SEVERITIES] as const;
    this.severities = ofSeverity.map((name) => stratum(`severity:${name}`, config.severity[name]));
    this.erroneous = stratum("span:error", config.severity.error);
    this.traced = config.trace_rate === undefined ? undefined : stratum("trace", config.trace_rate);
  }

  rateOf(record: RecordFacts): number {
    const { isError } = record;
    if (isError) this.errors++;
    const named = this.names.of(record);
    if (named === this.exempt) return this.choose(named);
    for (let i = 0; i < this.values.length; i++) {
      const rule = this.values[i]!;
      if (rule.holds(record.value(rule.path))) return this.choose(this.valued);
    }
    if (isError) return this.choose(this.isLogs ? this.severityOf(record) : this.erroneous);
    const { trace } = record;
    const traced = trace < 0 ? undefined : this.traced;
    const base = this.choose(named ?? traced ?? (this.isLogs ? this.severityOf(record) : this.spans));
    return base === 0 ? 0 : Math.min(1, base * this.pressure.factorOf(trace));
  }

  decided(rate: number, kept: boolean): void {
    if (kept) {
      this.present.kept++;
      this.present.estimate += 1 / rate;
    } else this.present.dropped++;
  }

  /** Hands what was counted since the last time to the metrics and to the spike watch. */
  report(metrics: Metrics): void {
    if (this.errors > 0) this.pressure.erred(this.errors);
    this.errors = 0;
    const { exempt, valued, spans, erroneous, traced } = this;
    const all = [exempt, valued, ...this.severities, spans, erroneous, ...(traced ? [traced] : []), ...this.names.all];
    for (const one of all) if (one.kept + one.dropped > 0) publish(one, metrics);
  }

  private choose(chosen: Stratum): number {
    this.present = chosen;
    return chosen.rate;
  }

  /** Numbers beyond those that there are count as the nearest: a record says what it likes. */
  private severityOf({ severity }: RecordFacts): Stratum {
    return this.severities[(Math.max(0, Math.min(24, severity)) + 3) >> 2]!;
  }
}

/** Finds the rule of a name. The same few names come again and again, so they are known by their bytes. */
class NameRules {
  readonly all: readonly Stratum[];
  private readonly rules: readonly { matches: (name: string) => boolean; stratum: Stratum }[];
  private readonly known = new Map<number, { readonly name: Uint8Array; readonly stratum: Stratum | undefined }>();

  constructor({ events, exempt }: AdaptiveConfig, exempted: Stratum) {
    const named = Object.entries(events).map(
      ([pattern, rate]) => [pattern, stratum(`event:${pattern}`, rate)] as const,
    );
    this.all = named.map(([, one]) => one);
    this.rules = [
      ...exempt.map((pattern) => ({ matches: glob(pattern), stratum: exempted })),
      ...named.map(([pattern, one]) => ({ matches: glob(pattern), stratum: one })),
    ];
  }

  of(record: RecordFacts): Stratum | undefined {
    if (this.rules.length === 0) return undefined;
    const hash = record.nameHash;
    if (hash === 0) return undefined;
    const known = this.known.get(hash);
    if (known !== undefined && record.isNamed(known.name)) return known.stratum;
    const { name } = record;
    const found = this.rules.find(({ matches }) => matches(name))?.stratum;
    if (this.known.size >= MAX_KNOWN) this.known.clear();
    if (name.length <= LONGEST_KNOWN) this.known.set(hash, { name: Buffer.from(name), stratum: found });
    return found;
  }
}

const MAX_KNOWN = 10_000;
const LONGEST_KNOWN = 256;

function stratum(name: string, rate: number): Stratum {
  return { name, rate, kept: 0, dropped: 0, estimate: 0 };
}

function publish(one: Stratum, metrics: Metrics): void {
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
    metrics.counter("sluice_adaptive_sampling_records", COUNTED, { stratum: name, sampled });
  return {
    kept: decided("true"),
    dropped: decided("false"),
    estimate: metrics.counter("sluice_adaptive_sampling_estimated_records", ESTIMATED, { stratum: name }),
  };
}

const COUNTED = { description: "Records decided, by the rule that decided." };
const ESTIMATED = { description: "Sum of 1/rate over the records kept: an estimate of what came in." };
