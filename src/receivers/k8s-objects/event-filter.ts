import type { KubernetesObject } from "#net/kubernetes";
import type { Clock } from "../../plugin.js";
import { eventTime } from "./object-entry.js";

/** How many events are remembered; the oldest is forgotten first. */
const MAX_EVENTS = 100_000;

/** Leaves out deletions, events from before the start, and changes that come too soon after the last one. */
export class EventFilter {
  private readonly intervalMs: number;
  private readonly clock: Clock;
  private readonly startSeconds: bigint;
  /** When the last change of an event passed, by its uid. The oldest come first. */
  private readonly passed = new Map<string, number>();

  /** A negative interval leaves out all changes, 0 none. */
  constructor(intervalMs: number, clock: Clock) {
    this.intervalMs = intervalMs;
    this.clock = clock;
    this.startSeconds = BigInt(Math.floor(clock.now() / 1000));
  }

  /** With `isResumed`, events from before the start pass: they happened since the agent stopped. */
  passes(event: KubernetesObject, change: string, isResumed: boolean): boolean {
    if (change === "DELETED") return false;
    if (!isResumed && (eventTime(event) ?? 0n) / 1_000_000_000n < this.startSeconds) return false;
    return change !== "MODIFIED" || this.intervalMs === 0 || this.passesChange(event.metadata.uid ?? "");
  }

  private passesChange(uid: string): boolean {
    if (this.intervalMs < 0) return false;
    const now = this.clock.monotonic();
    const last = this.passed.get(uid);
    if (last !== undefined && now - last < this.intervalMs) return false;
    this.passed.delete(uid);
    this.passed.set(uid, now);
    if (this.passed.size > MAX_EVENTS) this.passed.delete(this.passed.keys().next().value!);
    return true;
  }
}
