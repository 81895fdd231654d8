import { atIntervals } from "#resilience";
import type { Clock } from "../../../plugin.js";
import type { Labels } from "../relabel.js";
import type { Discovery } from "./discovery.js";

/** Called when targets could not be found; the last known targets stay. */
type OnDiscoveryError = (where: string, error: unknown) => void;

/** Services that every discovery gets. */
export interface DiscoveryServices {
  readonly clock: Clock;
  readonly random: () => number;
  readonly onError: OnDiscoveryError;
}

/** Finds targets at an interval. While it fails, its last result stays. */
export abstract class PolledDiscovery implements Discovery {
  protected readonly services: DiscoveryServices;
  private readonly intervalMs: number;
  private readonly stopped = new AbortController();
  private running: Promise<void> = Promise.resolve();
  private lastReported: string | undefined;

  constructor(intervalMs: number, services: DiscoveryServices) {
    this.intervalMs = intervalMs;
    this.services = services;
  }

  /**
   * Returns all targets, or undefined if nothing can have changed. The implementation reports errors, because it knows
   * where they occurred.
   */
  protected abstract find(abort: AbortSignal): Promise<readonly Labels[] | undefined>;

  start(update: (targets: readonly Labels[]) => void): void {
    const { signal } = this.stopped;
    this.running = atIntervals({ first: 0, interval: this.intervalMs }, this.services.clock, signal, () =>
      this.findOnce(update),
    );
  }

  private async findOnce(update: (targets: readonly Labels[]) => void): Promise<void> {
    const { signal } = this.stopped;
    const targets = await this.find(signal).catch((error: unknown) => {
      if (!signal.aborted) this.services.onError(this.constructor.name, error);
      return undefined;
    });
    const text = targets && JSON.stringify(targets.map((labels) => [...labels]));
    if (signal.aborted || targets === undefined || text === this.lastReported) return;
    this.lastReported = text;
    update(targets);
  }

  async stop(): Promise<void> {
    this.stopped.abort();
    await this.running;
  }
}
