import type { Clock } from "#contract";
import { type CallEnd, type Hold, POLICY, type SendPolicy, Trouble } from "./policy.js";
import { Successes } from "./recent-calls.js";

/** The minimum rate at which a ramp starts, in entries per second. */
const MIN_RATE = 10;
/** How often the rate doubles. After that there is no limit. */
const DOUBLINGS = 10;
/** Entries are let through in stages of this length, so that they can be merged. */
const STAGE_MS = 100;

/**
 * Slows the queue down after an outage, so that a backend that has just recovered is not flooded with everything that
 * waited. It starts at the rate at which the backend last took entries and doubles ten times in `ms` milliseconds, as
 * long as more requests succeed than fail. Then there is no limit. A backend that has not failed is never slowed down,
 * so a restart alone starts no ramp.
 */
export class Ramp implements SendPolicy {
  private readonly clock: Clock;
  private readonly stepMs: number;
  private readonly stageMs: number;
  private readonly successes: Successes;
  private readonly trouble: Trouble;
  /** Entries per second; infinite if no ramp is active. */
  private rate = Number.POSITIVE_INFINITY;
  private doublings = 0;
  private stepAt = 0;
  /** Successful calls before the current step. */
  private takenBefore = 0;
  private failures = 0;
  private stageAt = 0;
  /** Number of entries that the current stage still lets through. */
  private left = 0;

  /** With `ms` 0 there is no ramp. */
  constructor(ms: number, clock: Clock, successes = new Successes(clock), trouble = new Trouble()) {
    this.clock = clock;
    this.stepMs = ms / DOUBLINGS;
    this.stageMs = Math.min(STAGE_MS, this.stepMs);
    this.successes = successes;
    this.trouble = trouble;
  }

  /**
   * Starts a ramp when the backend works again. `rate` is the number of entries per second that it took before it
   * failed.
   */
  start(rate: number = this.successes.rate): void {
    if (this.stepMs === 0) return;
    const now = this.clock.monotonic();
    this.setRate(Math.max(MIN_RATE, rate));
    this.doublings = 0;
    this.startStep(now);
    this.startStage(now);
  }

  get isActive(): boolean {
    return this.rate !== Number.POSITIVE_INFINITY;
  }

  blocks(): Hold | undefined {
    const waitMs = this.waitMs();
    return waitMs > 0 ? { waitMs, rejects: false } : undefined;
  }

  /** Milliseconds until the next request may be made; 0 means now. */
  waitMs(): number {
    if (!this.isActive) return 0;
    const now = this.clock.monotonic();
    if (now >= this.stepAt + this.stepMs) this.endStep(now);
    if (now >= this.stageAt + this.stageMs) this.startStage(now);
    return this.left > 0 || !this.isActive ? 0 : this.stageAt + this.stageMs - now;
  }

  /** The maximum number of entries in the next request, if `waitMs` is 0. */
  get maxEntries(): number {
    return this.isActive ? Math.max(1, this.left) : Number.POSITIVE_INFINITY;
  }

  began({ length }: { readonly length: number }): void {
    this.left -= length;
  }

  ended({ result }: Pick<CallEnd, "result">): void {
    if (result === "failure") this.failures += 1;
  }

  /** A step without any result continues. */
  private endStep(now: number): void {
    const taken = this.successes.calls - this.takenBefore;
    if (taken + this.failures === 0) return;
    if (taken > this.failures) {
      this.doublings += 1;
      this.setRate(this.doublings < DOUBLINGS ? this.rate * 2 : Number.POSITIVE_INFINITY);
    }
    this.startStep(now);
  }

  private setRate(rate: number): void {
    this.rate = rate;
    this.trouble.set(POLICY.ramp, this.isActive);
  }

  private startStep(now: number): void {
    this.stepAt = now;
    this.takenBefore = this.successes.calls;
    this.failures = 0;
  }

  private startStage(now: number): void {
    this.stageAt = now;
    this.left = Math.max(1, Math.round((this.rate * this.stageMs) / 1000));
  }
}
