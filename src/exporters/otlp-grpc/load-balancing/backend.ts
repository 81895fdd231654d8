import { copyRefusal, toRefusal } from "#contract/errors";
import { backoff, type Delays } from "#resilience";
import type {
  Batch,
  Clock,
  Exporter,
  ExporterContext,
  PartialRejection,
  Refusal,
  SendOptions,
} from "../../../plugin.js";

/** After this many failures in a row an endpoint counts as down, and is paused for a while. */
const DOWN_AFTER = 3;
const MIN_PAUSE_MS = 1000;
const MAX_PAUSE_MS = 30_000;

/** Receives the outcome of sends to an endpoint, for the metrics. */
export interface BackendMetrics {
  readonly succeeded: () => void;
  readonly failed: () => void;
  readonly latency: (ms: number) => void;
}

/**
 * One endpoint of the ring. While it is down, single sends try it, and all others fail at once. So they neither wait
 * for their timeout nor occupy a slot that sends to other endpoints could use.
 */
export class Backend {
  readonly endpoint: string;
  private readonly exporter: Exporter;
  private readonly clock: Clock;
  private readonly delays: Delays;
  private readonly metrics: BackendMetrics;
  private failures = 0;
  /** Monotonic time until which the endpoint is not tried. */
  private pausedUntil = 0;
  private last: Refusal | undefined;
  private inFlight = 0;
  private isRetired = false;

  constructor(endpoint: string, exporter: Exporter, context: ExporterContext, metrics: BackendMetrics) {
    this.endpoint = endpoint;
    this.exporter = exporter;
    this.clock = context.clock;
    this.delays = backoff({ first: MIN_PAUSE_MS, max: MAX_PAUSE_MS }, context);
    this.metrics = metrics;
  }

  /** Whether the last send failed. */
  get isFailing(): boolean {
    return this.failures > 0;
  }

  get isDown(): boolean {
    return this.failures >= DOWN_AFTER;
  }

  /** Rejects with a refusal that names the endpoint. */
  async send(batch: Batch, abort: AbortSignal, options?: SendOptions): Promise<PartialRejection | undefined> {
    this.throwIfPaused();
    const began = this.clock.monotonic();
    this.inFlight += 1;
    try {
      const partial = await this.exporter.send(batch, abort, options);
      this.onSuccess();
      this.metrics.succeeded();
      return partial;
    } catch (error) {
      const refusal = this.named(toRefusal(error));
      if (refusal.kind === "permanent") this.onSuccess();
      else this.onFailure(refusal);
      this.metrics.failed();
      throw refusal;
    } finally {
      this.metrics.latency(this.clock.monotonic() - began);
      this.inFlight -= 1;
      this.stopIfDone();
    }
  }

  async check(abort: AbortSignal): Promise<void> {
    await this.exporter.check?.(abort);
    this.onSuccess();
  }

  /** Call this when the endpoint has left the ring. Sends under way may finish. */
  retire(): void {
    this.isRetired = true;
    this.stopIfDone();
  }

  async stop(): Promise<void> {
    await this.exporter.stop?.();
  }

  private stopIfDone(): void {
    if (this.isRetired && this.inFlight === 0) void this.stop().catch(() => {});
  }

  private throwIfPaused(): void {
    if (!this.isDown) return;
    const now = this.clock.monotonic();
    const leftMs = this.pausedUntil - now;
    if (leftMs > 0) throw copyRefusal(this.last!, { kind: "throttled", retryAfterMs: leftMs });
    // This send tries the endpoint; the others wait for its result.
    this.pausedUntil = now + this.pauseMs;
  }

  private onSuccess(): void {
    this.failures = 0;
    this.last = undefined;
  }

  private onFailure(refusal: Refusal): void {
    this.failures += 1;
    this.last = refusal;
    if (this.isDown) this.pausedUntil = this.clock.monotonic() + this.pauseMs;
  }

  private get pauseMs(): number {
    return this.delays(this.failures - DOWN_AFTER + 1);
  }

  private named(refusal: Refusal): Refusal {
    const { message } = refusal;
    return message.includes(this.endpoint)
      ? refusal
      : copyRefusal(refusal, { message: `${this.endpoint}: ${message}` });
  }
}
