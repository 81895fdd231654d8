import type { Clock } from "../../../plugin.js";
import type { EventStream } from "../events.js";
import { RateMeter, type Sampled } from "./live-rates.js";

const SAMPLE_MS = 1000;

/**
 * Makes one sample per second for all readers. It is made and serialised once, however many readers there are, and not
 * at all while there are none.
 */
export class LiveSamples {
  private readonly host: Sampled;
  private readonly clock: Clock;
  private readonly readers = new Set<EventStream>();
  private cancel = () => {};

  constructor(host: Sampled, clock: Clock) {
    this.host = host;
    this.clock = clock;
  }

  /** Call the returned function to stop. */
  sendTo(reader: EventStream): () => void {
    this.readers.add(reader);
    if (this.readers.size === 1) this.start();
    return () => {
      this.readers.delete(reader);
      if (this.readers.size === 0) this.cancel();
    };
  }

  private start(): void {
    const meter = new RateMeter(this.host, this.clock);
    const next = async () => {
      this.cancel = this.clock.after(SAMPLE_MS, next);
      if (this.host.refresh !== undefined) await this.host.refresh();
      const sample = meter.next();
      if (sample === undefined) return;
      const json = JSON.stringify(sample);
      for (const reader of this.readers) reader.sendJson("sample", json);
    };
    this.cancel = this.clock.after(SAMPLE_MS, next);
  }
}
