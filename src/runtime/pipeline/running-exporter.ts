import { map, type OperatorFunction } from "rxjs";
import type { Delivery, Exporter, Logger, PlannedExporter, SendOptions } from "#contract";
import type { Outlet } from "#contract/operators";
import type { Batch } from "#otlp";
import { into, type Refusable } from "./streams.js";

/** A delivery at the end of a pipeline. */
export class Outgoing implements Refusable {
  readonly delivery: Delivery;
  readonly pipeline: string;

  constructor(delivery: Delivery, pipeline: string) {
    this.delivery = delivery;
    this.pipeline = pipeline;
  }

  refuse(error: unknown): void {
    this.delivery.refuse(error);
  }
}

/** The deliveries of a pipeline, on their way out. */
export function outgoing(pipeline: string): OperatorFunction<Delivery, Outgoing> {
  return map((delivery) => new Outgoing(delivery, pipeline));
}

/** An exporter of a graph and its outlet, at which streams end. */
export class RunningExporter {
  readonly id: string;
  /** As the current config describes it. */
  spec: PlannedExporter;
  readonly outlet: Outlet;
  private readonly replaceable: ReplaceableExporter;
  private readonly logger: Logger;

  constructor(spec: PlannedExporter, replaceable: ReplaceableExporter, outlet: Outlet, logger: Logger) {
    this.id = spec.id;
    this.spec = spec;
    this.replaceable = replaceable;
    this.outlet = outlet;
    this.logger = logger;
  }

  get exporter(): Exporter {
    return this.replaceable.exporter;
  }

  /** Ends a stream in the outlet. */
  get operator(): OperatorFunction<Outgoing, never> {
    const { outlet } = this;
    const accept = ({ delivery, pipeline }: Outgoing) => outlet.accept(delivery, pipeline);
    return into({ accept, drain: () => outlet.drain(), abort: () => outlet.abort() }, this.logger);
  }

  /** The outlet calls this exporter from now on. Resolves when the former one can be stopped. */
  use(exporter: Exporter): Promise<void> {
    return this.replaceable.replace(exporter);
  }
}

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

  get sealsEntries(): boolean {
    return this.current.exporter.sealsEntries ?? false;
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
  private readonly onCallEnded = () => {
    this.count -= 1;
    if (this.count === 0) this.onEnded();
  };

  constructor(exporter: Exporter) {
    this.exporter = exporter;
  }

  /** Returns the exporter's own promise, because another one would cost every call another turn. */
  send(batch: Batch, abort: AbortSignal, options?: SendOptions): ReturnType<Exporter["send"]> {
    const sent = this.exporter.send(batch, abort, options);
    if (typeof sent?.then !== "function") return sent; // a plugin without types: the call has ended
    this.count += 1;
    sent.then(this.onCallEnded, this.onCallEnded);
    return sent;
  }

  whenEnded(): Promise<void> {
    if (this.count === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.onEnded = resolve;
    });
  }
}
