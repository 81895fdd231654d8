import type { Clock, CompleteSettings } from "../../plugin.js";
import { FailureShare } from "./failure-share.js";

export type BreakerState = "closed" | "open" | "half_open";

/** The right to make one call; must be settled once. */
export interface Permit {
  readonly probe: boolean;
  /** Which stretch between two changes of state it was given in: what it leads to counts only there. */
  readonly stretch: number;
}

/**
 * - `success`: the other side took it. `failure`: it may be down.
 * - `answered`: it refused this data for good, so it is up; never counts as a failure.
 * - `cancelled`: no call was made, or it was broken off from here.
 */
export type CallResult = "success" | "failure" | "answered" | "cancelled";

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
  private readonly share: FailureShare;
  private current: BreakerState = "closed";
  private isForced = false;
  private changedAt: number;
  private openUntil = 0;
  private stretch = 0;
  private failuresInARow = 0;
  private probesOut = 0;
  private goodProbes = 0;
  private permit: Permit = { probe: false, stretch: 0 };

  constructor(
    settings: BreakerSettings,
    clock: Clock,
    onChange: (to: BreakerState, from: BreakerState) => void = () => {},
  ) {
    this.settings = settings;
    this.clock = clock;
    this.onChange = onChange;
    this.share = new FailureShare(settings.failure_window, clock);
    this.changedAt = clock.now();
  }

  get state(): BreakerState {
    return this.current;
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
      this.change("half_open");
    }
    if (this.probesOut >= this.settings.half_open_probes) return undefined;
    this.probesOut += 1;
    return this.permit;
  }

  /** Milliseconds until `acquire` is worth asking again; undefined when a result, or an operator, decides that. */
  get waitMs(): number | undefined {
    if (this.current !== "open" || this.isForced) return undefined;
    return Math.max(0, this.openUntil - this.clock.monotonic());
  }

  /** Says how a call went. True when a failure is the entry's own: not part of an outage that this breaker sees. */
  settle(permit: Permit, result: CallResult): boolean {
    if (permit.stretch !== this.stretch) return false;
    if (permit.probe) {
      this.settleProbe(result);
      return false;
    }
    if (result === "success") this.failuresInARow = 0;
    if (result === "success" || result === "failure") this.share.note(result === "failure");
    if (result !== "failure") return false;
    this.failuresInARow += 1;
    if (!this.settings.enabled || this.isForced || !this.isTooMuch()) return true;
    this.change("open");
    return false;
  }

  /** Holds it open or closed whatever happens; "auto" lets it decide again, from where it is. */
  force(state: "open" | "closed" | "auto"): void {
    this.isForced = state !== "auto";
    if (state !== "auto") this.change(state);
    else if (this.current === "open") this.openUntil = this.clock.monotonic();
  }

  private settleProbe(result: CallResult): void {
    this.probesOut -= 1;
    if (result === "failure") return this.change("open");
    if (result === "cancelled") return;
    this.goodProbes += 1;
    if (this.goodProbes >= this.settings.success_threshold) this.change("closed");
  }

  private isTooMuch(): boolean {
    const { failure_threshold, failure_rate, minimum_calls } = this.settings;
    if (this.failuresInARow >= failure_threshold) return true;
    if (failure_rate === 0) return false;
    const { calls, share } = this.share.read();
    return calls >= minimum_calls && share >= failure_rate;
  }

  private change(to: BreakerState): void {
    const from = this.current;
    this.current = to;
    this.stretch += 1;
    this.permit = { probe: to === "half_open", stretch: this.stretch };
    this.failuresInARow = this.probesOut = this.goodProbes = 0;
    if (to === "open") this.openUntil = this.clock.monotonic() + this.settings.reset_timeout;
    if (to === "closed") this.share.clear();
    if (from === to) return;
    this.changedAt = this.clock.now();
    this.onChange(to, from);
  }
}
