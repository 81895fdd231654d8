import type { Clock } from "../../../plugin.js";
import type { Labels } from "../relabel.js";
import type { Discovery } from "./discovery.js";

/** Called when targets could not be found; the last known targets stay. */
export type OnDiscoveryError = (where: string, error: unknown) => void;

/** Services that every discovery gets. */
export interface DiscoveryServices {
  readonly clock: Clock;
  readonly onError: OnDiscoveryError;
}

/** Finds targets at an interval. While it fails, its last result stays. */
export abstract class PolledDiscovery implements Discovery {
  protected readonly services: DiscoveryServices;
  private readonly intervalMs: number;
  private readonly stopped = new AbortController();
  private cancel: () => void = () => {};
  private current: Promise<void> = Promise.resolve();
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
    const turn = async () => {
      const targets = await this.find(this.stopped.signal).catch((error: unknown) => {
        if (!this.stopped.signal.aborted) this.services.onError(this.constructor.name, error);
        return undefined;
      });
      if (this.stopped.signal.aborted) return;
      const text = targets && JSON.stringify(targets.map((labels) => [...labels]));
      if (targets !== undefined && text !== this.lastReported) {
        this.lastReported = text;
        update(targets);
      }
      this.cancel = this.services.clock.after(this.intervalMs, () => {
        this.current = turn();
      });
    };
    this.current = turn();
  }

  async stop(): Promise<void> {
    this.stopped.abort();
    this.cancel();
    await this.current;
  }
}
