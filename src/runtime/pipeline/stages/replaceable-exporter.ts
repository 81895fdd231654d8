import type { Exporter, SendOptions } from "#contract";
import type { Batch } from "#otlp";

/**
 * The exporter that an outlet calls. The exporter behind it can be replaced while the outlet runs, so the queue, its
 * retries and its breaker stay as they are. `check` exists if the first exporter has it.
 */
export class ReplaceableExporter implements Exporter {
  readonly check?: (abort: AbortSignal) => Promise<void>;
  private current: ExporterCalls;

  constructor(exporter: Exporter) {
    this.current = new ExporterCalls(exporter);
    if (exporter.check !== undefined) this.check = async (abort) => this.current.exporter.check?.(abort);
  }

  get exporter(): Exporter {
    return this.current.exporter;
  }

  get metadataKeys(): readonly string[] {
    return this.current.exporter.metadataKeys ?? [];
  }

  send(batch: Batch, abort: AbortSignal, options?: SendOptions): ReturnType<Exporter["send"]> {
    return this.current.send(batch, abort, options);
  }

  /** New calls go to this exporter. Resolves when the calls of the former one have ended, so that it can be stopped. */
  replace(exporter: Exporter): Promise<void> {
    const { current } = this;
    this.current = new ExporterCalls(exporter);
    return current.whenEnded();
  }
}

/** An exporter, and the number of its calls under way. */
class ExporterCalls {
  readonly exporter: Exporter;
  private count = 0;
  private onEnded = () => {};

  constructor(exporter: Exporter) {
    this.exporter = exporter;
  }

  async send(batch: Batch, abort: AbortSignal, options?: SendOptions): ReturnType<Exporter["send"]> {
    this.count += 1;
    try {
      return await this.exporter.send(batch, abort, options);
    } finally {
      this.count -= 1;
      if (this.count === 0) this.onEnded();
    }
  }

  whenEnded(): Promise<void> {
    if (this.count === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.onEnded = resolve;
    });
  }
}
