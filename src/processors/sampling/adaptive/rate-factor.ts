import type { Clock } from "../../../plugin.js";
import type { AdaptiveSamplingConfig, ErrorSpikeConfig, LoadConfig } from "./config.js";
import type { CountSource, Counts } from "./count-exchange.js";
import { SlidingCount } from "./sliding-count.js";

/** The factor during a spike: it raises every rate except 0 to 1. */
export const SPIKE_FACTOR = Number.POSITIVE_INFINITY;

/** The factor for all rates. It depends on the load and the errors of all pipelines of one processor. */
export class RateFactor implements CountSource {
  private readonly load: LoadTiers | undefined;
  private readonly spike: ErrorSpike | undefined;
  private readonly traces: TraceFactors;
  private readonly onSpike: (isSpike: boolean) => void;
  /** The factor for the present batch. */
  current = 1;
  private own = { records: 0, errors: 0 };

  /** `onSpike` is called when a spike begins and when it ends. */
  constructor(config: AdaptiveSamplingConfig, clock: Clock, onSpike: (isSpike: boolean) => void) {
    this.onSpike = onSpike;
    this.load = config.load.enabled ? new LoadTiers(config.load, clock) : undefined;
    this.spike = config.error_spike.enabled ? new ErrorSpike(config.error_spike, clock) : undefined;
    this.traces = new TraceFactors(this.load || this.spike ? config.remember_traces : 0);
  }

  get isSpike(): boolean {
    return this.current === SPIKE_FACTOR;
  }

  /** Call this for every batch, before its records are decided. */
  addRecords(records: number): void {
    this.own.records += records;
    this.countRecords(records);
  }

  takeOwn(): Counts {
    const { own } = this;
    this.own = { records: 0, errors: 0 };
    return own;
  }

  /** Adds counts from other agents with the same processor. */
  addOthers({ records, errors }: Counts): void {
    if (errors > 0) this.spike?.add(errors);
    this.countRecords(records);
  }

  private countRecords(records: number): void {
    this.load?.addRecords(records);
    const wasSpike = this.isSpike;
    this.current = this.now();
    if (this.isSpike !== wasSpike) this.onSpike(this.isSpike);
  }

  /**
   * Returns the factor that would apply at this moment. It is also right after a long time without data. Changes
   * nothing.
   */
  now(): number {
    return this.spike?.isOn() ? SPIKE_FACTOR : (this.load?.rate ?? 1);
  }

  addErrors(errors: number): void {
    this.own.errors += errors;
    this.spike?.add(errors);
  }

  /** A trace keeps the factor that it began with, so that a change of tier never splits a trace. */
  forTrace(trace: number): number {
    return trace < 0 ? this.current : this.traces.factorOf(trace, this.current);
  }
}

/**
 * The rate of the present load tier. A higher load takes effect at once, a lower one only when it is clearly below the
 * tier.
 */
class LoadTiers {
  private readonly config: LoadConfig;
  private readonly count: SlidingCount;
  private tier = -1;

  constructor(config: LoadConfig, clock: Clock) {
    this.config = config;
    this.count = new SlidingCount(config.window, clock);
  }

  addRecords(records: number): void {
    this.count.add(records);
    this.tier = this.tierNow();
  }

  get rate(): number {
    return this.config.tiers[this.tierNow()]?.rate ?? 1;
  }

  private tierNow(): number {
    const { tiers, window, hysteresis } = this.config;
    const perSecond = (this.count.current * 1000) / window;
    let { tier } = this;
    while (tier + 1 < tiers.length && perSecond > tiers[tier + 1]!.above) tier++;
    while (tier >= 0 && perSecond < tiers[tier]!.above * (1 - hysteresis)) tier--;
    return tier;
  }
}

/** On while there are many errors, or many more than before, and for the time `hold` after that. */
class ErrorSpike {
  private readonly config: ErrorSpikeConfig;
  private readonly clock: Clock;
  private readonly count: SlidingCount;
  private until = Number.NEGATIVE_INFINITY;

  constructor(config: ErrorSpikeConfig, clock: Clock) {
    this.config = config;
    this.clock = clock;
    this.count = new SlidingCount(config.window, clock);
  }

  add(errors: number): void {
    this.count.add(errors);
    const { absolute, relative, minimum, hold } = this.config;
    const { current, previous } = this.count;
    const isManyMore = previous > 0 && current >= minimum && current >= relative * previous;
    if (current >= absolute || isManyMore) this.until = this.clock.monotonic() + hold;
  }

  isOn(): boolean {
    return this.clock.monotonic() < this.until;
  }
}

/** The factors of recent traces, in two generations: when one is full, the older one is forgotten. */
class TraceFactors {
  private readonly maxPerGeneration: number;
  private young = new Map<number, number>();
  private old = new Map<number, number>();

  constructor(traces: number) {
    this.maxPerGeneration = traces / 2;
  }

  factorOf(trace: number, current: number): number {
    const known = this.young.get(trace);
    if (known !== undefined) return known;
    const factor = this.old.get(trace) ?? current;
    if (this.maxPerGeneration > 0) this.remember(trace, factor);
    return factor;
  }

  private remember(trace: number, factor: number): void {
    if (this.young.size >= this.maxPerGeneration) {
      this.old = this.young;
      this.young = new Map();
    }
    this.young.set(trace, factor);
  }
}
