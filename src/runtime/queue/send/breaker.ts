import type { Clock } from "#contract";
import type { CompleteSettings } from "#contract/schema";
import { FailureRateWindow } from "./failure-rate-window.js";

export type BreakerState = "closed" | "open" | "half_open";

/** The right to make one call; its holder must report how the call went, once. */
export interface Permit {
  readonly probe: boolean;
  /** Counts the changes of state: a report of an earlier epoch says nothing about the present one. */
  readonly epoch: number;
}

/**
 * - `success`: the other side took it. `failure`: it may be down.
 * - `answered`: it refused this data for good, so it is up; never counts as a failure.
 * - `cancelled`: no call was made, or it was broken off from here.
 */
export type BreakerOutcome = "success" | "failure" | "answered" | "cancelled";

/** How an earlier run left a breaker. */
export interface RestoredBreaker {
  readonly failures: number;
  readonly openSince: number | undefined;
  readonly probeInMs: number;
}

export type BreakerSettings = CompleteSettings["circuit_breaker"];

/**
 * Lets calls through while they succeed, none while the other side is down, and single probes to find out.
 *
 * closed -> open after failure_threshold failures in a row, or when the share of failures in the window is too large;
 * open -> half_open after reset_timeout, when somebody wants to call; half_open -> closed after success_threshold
 * successful probes, and back to open on any failed one. Results of calls that began before the last change say
 * nothing about the present and are ignored.
 */
export class Breaker {
  private readonly settings: BreakerSettings;
  private readonly clock: Clock;
  private readonly onChange: (to: BreakerState, from: BreakerState) => void;
  private readonly failureRate: FailureRateWindow;
  private current: BreakerState = "closed";
  private isForced = false;
  private changedAt: number;
  private openUntil = 0;
  private epoch = 0;
  private consecutiveFailures = 0;
  private probesInFlight = 0;
  private successfulProbes = 0;
  private permit: Permit = { probe: false, epoch: 0 };

  constructor(
    settings: BreakerSettings,
    clock: Clock,
    onChange: (to: BreakerState, from: BreakerState) => void = () => {},
  ) {
    this.settings = settings;
    this.clock = clock;
    this.onChange = onChange;
    this.failureRate = new FailureRateWindow(settings.failure_window, clock);
    this.changedAt = clock.now();
  }

  get state(): BreakerState {
    return this.current;
  }

  /** The epoch of permits that are given now. */
  get currentEpoch(): number {
    return this.epoch;
  }

  get forced(): boolean {
    return this.isForced;
  }

  /** When it came into its state, by the wall clock. */
  get since(): number {
    return this.changedAt;
  }

  /** Undefined: no call may be made now. */
  acquire(): Permit | undefined {
    if (this.current === "closed") return this.permit;
    if (this.isForced) return undefined;
    if (this.current === "open") {
      if (this.clock.monotonic() < this.openUntil) return undefined;
      this.changeState("half_open");
    }
    if (this.probesInFlight >= this.settings.half_open_probes) return undefined;
    this.probesInFlight += 1;
    return this.permit;
  }

  /** Milliseconds until `acquire` is worth asking again; undefined when a result, or an operator, decides that. */
  get waitMs(): number | undefined {
    if (this.current !== "open" || this.isForced) return undefined;
    return Math.max(0, this.openUntil - this.clock.monotonic());
  }

  /** Says how a call went. */
  report(permit: Permit, outcome: BreakerOutcome): void {
    if (permit.epoch !== this.epoch) return;
    if (permit.probe) return this.reportProbe(outcome);
    if (outcome === "success") this.consecutiveFailures = 0;
    if (outcome === "success" || outcome === "failure") this.failureRate.add(outcome === "failure");
    if (outcome !== "failure") return;
    this.consecutiveFailures += 1;
    if (this.settings.enabled && !this.isForced && this.isOverThreshold()) this.changeState("open");
  }

  /** Failures in a row, while it is closed. */
  get failures(): number {
    return this.consecutiveFailures;
  }

  /**
   * Goes on where an earlier run of the agent left it, if the config still has a breaker. `openSince` (wall-clock time) is set
   * when it was not closed: then it waits `probeInMs` for the next probe, but not longer than `reset_timeout`.
   */
  restore({ failures, openSince, probeInMs }: RestoredBreaker): void {
    if (!this.settings.enabled) return;
    if (openSince === undefined) {
      this.consecutiveFailures = Math.min(failures, this.settings.failure_threshold - 1);
      return;
    }
    this.enter("open");
    const waitMs = Math.min(Math.max(0, probeInMs), this.settings.reset_timeout);
    this.openUntil = this.clock.monotonic() + waitMs;
    this.changedAt = Math.min(openSince, this.clock.now());
  }

  /** Holds it open or closed whatever happens; "auto" lets it decide again, from where it is. */
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
    this.consecutiveFailures = this.probesInFlight = this.successfulProbes = 0;
    if (to === "open") this.openUntil = this.clock.monotonic() + this.settings.reset_timeout;
    if (to === "closed") this.failureRate.clear();
  }
}
