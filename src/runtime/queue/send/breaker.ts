import type { Clock } from "#contract";
import type { CompleteSettings } from "#contract/schema";
import type { BreakerState } from "../entry/queue-metrics.js";
import {
  type BreakerOutcome,
  type CallEnd,
  type Hold,
  type Permit,
  POLICY,
  type SendPolicy,
  Trouble,
} from "./policy.js";
import { FailureRateWindow } from "./recent-calls.js";

/** The state of a breaker at the end of an earlier run. */
interface RestoredBreaker {
  readonly failures: number;
  readonly openSince: number | undefined;
}

type BreakerSettings = CompleteSettings["circuit_breaker"];

/**
 * Lets calls through while they succeed, none while the backend is down, and single probes to find out.
 *
 * closed -> open after failure_threshold failures in a row, or when the share of failures in the window is too large;
 * open -> half_open after reset_timeout, on the next request for a permit; half_open -> closed after success_threshold
 * successful probes, and back to open on any failed one. Results of calls that began before the last state change are
 * ignored.
 */
export class Breaker implements SendPolicy {
  private readonly settings: BreakerSettings;
  private readonly clock: Clock;
  private readonly onChange: (to: BreakerState, from: BreakerState) => void;
  private readonly failureRate: FailureRateWindow;
  private readonly trouble: Trouble;
  /** The permit of the current epoch. While the breaker has no trouble, calls may use it without `take`. */
  permit: Permit = { probe: false, epoch: 0 };
  private current: BreakerState = "closed";
  private isForced = false;
  private changedAt: number;
  private openUntil = 0;
  private epoch = 0;
  private consecutiveFailures = 0;
  private probesInFlight = 0;
  private successfulProbes = 0;

  constructor(
    settings: BreakerSettings,
    clock: Clock,
    onChange: (to: BreakerState, from: BreakerState) => void = () => {},
    trouble = new Trouble(),
  ) {
    this.settings = settings;
    this.clock = clock;
    this.onChange = onChange;
    this.failureRate = new FailureRateWindow(settings.failure_window, clock);
    this.trouble = trouble;
    this.changedAt = clock.now();
    this.setFailures(0);
  }

  get state(): BreakerState {
    return this.current;
  }

  /** The epoch of permits issued now. */
  get currentEpoch(): number {
    return this.epoch;
  }

  get forced(): boolean {
    return this.isForced;
  }

  /** Wall-clock time of the last state change. */
  get since(): number {
    return this.changedAt;
  }

  /** Becomes half open when it is time for a probe. */
  blocks(): Hold | undefined {
    if (this.current === "closed") return undefined;
    if (this.waitMs === 0) this.changeState("half_open");
    if (this.current === "half_open" && this.probesInFlight < this.settings.half_open_probes) return undefined;
    return { waitMs: this.waitMs, rejects: this.current === "open" && this.settings.on_open === "dead_letter" };
  }

  /** Takes the right to make one call, which nothing blocks. */
  take(): Permit {
    if (this.permit.probe) this.probesInFlight += 1;
    return this.permit;
  }

  ended({ permit, result }: CallEnd): void {
    this.report(permit, result === "partial" ? "success" : result);
  }

  /** Milliseconds until a probe is due; undefined if that depends on a result or on an operator. */
  get waitMs(): number | undefined {
    if (this.current !== "open" || this.isForced) return undefined;
    return Math.max(0, this.openUntil - this.clock.monotonic());
  }

  /** Reports the outcome of a call. */
  report(permit: Permit, outcome: BreakerOutcome): void {
    if (permit.epoch !== this.epoch) return;
    if (permit.probe) return this.reportProbe(outcome);
    if (outcome === "success") this.setFailures(0);
    if (outcome === "success" || outcome === "failure") this.failureRate.add(outcome === "failure");
    if (outcome !== "failure") return;
    this.setFailures(this.consecutiveFailures + 1);
    if (this.settings.enabled && !this.isForced && this.isOverThreshold()) this.changeState("open");
  }

  /** Failures in a row while the breaker is closed. */
  get failures(): number {
    return this.consecutiveFailures;
  }

  /**
   * Restores the state of an earlier run, if the config still has a breaker. `openSince` (wall-clock time) is set if
   * the breaker was not closed. Then it stays open, and a probe is due at once: people restart an agent when they have
   * repaired something, and one probe does no harm to a backend that is still down.
   */
  restore({ failures, openSince }: RestoredBreaker): void {
    if (!this.settings.enabled) return;
    if (openSince === undefined) {
      this.setFailures(Math.min(failures, this.settings.failure_threshold - 1));
      return;
    }
    this.enter("open");
    this.openUntil = this.clock.monotonic();
    this.changedAt = Math.min(openSince, this.clock.now());
  }

  /**
   * Holds the breaker open or closed, whatever happens. "auto" lets it decide again, starting from its current state.
   */
  force(state: "open" | "closed" | "auto"): void {
    this.isForced = state !== "auto";
    if (state !== "auto") this.changeState(state);
    else if (this.current === "open") this.openUntil = this.clock.monotonic();
  }

  private reportProbe(outcome: BreakerOutcome): void {
    this.probesInFlight -= 1;
    if (outcome === "failure") return this.changeState("open");
    if (outcome === "cancelled") return;
    this.successfulProbes += 1;
    if (this.successfulProbes >= this.settings.success_threshold) this.changeState("closed");
  }

  private isOverThreshold(): boolean {
    const { failure_threshold, failure_rate, minimum_calls } = this.settings;
    if (this.consecutiveFailures >= failure_threshold) return true;
    if (failure_rate === 0) return false;
    const { calls, rate } = this.failureRate.read();
    return calls >= minimum_calls && rate >= failure_rate;
  }

  /** A share of failures can only be known if successes are counted too. */
  private setFailures(count: number): void {
    this.consecutiveFailures = count;
    const { failure_rate } = this.settings;
    this.trouble.set(POLICY.breaker, this.current !== "closed" || count > 0 || failure_rate > 0);
  }

  private changeState(to: BreakerState): void {
    const from = this.current;
    this.enter(to);
    if (from === to) return;
    this.changedAt = this.clock.now();
    this.onChange(to, from);
  }

  private enter(to: BreakerState): void {
    this.current = to;
    this.epoch += 1;
    this.permit = { probe: to === "half_open", epoch: this.epoch };
    this.probesInFlight = this.successfulProbes = 0;
    this.setFailures(0);
    if (to === "open") this.openUntil = this.clock.monotonic() + this.settings.reset_timeout;
    if (to === "closed") this.failureRate.clear();
  }
}
