import type { Delivery, Exporter, Logger, PlannedExporter } from "#contract";
import { shutdownRefusal } from "#contract/errors";
import type { Outlet } from "#contract/operators";
import { HoldingGate } from "./holding-gate.js";
import type { ReplaceableExporter } from "./replaceable-exporter.js";

interface WaitingDelivery {
  readonly delivery: Delivery;
  readonly pipeline: string;
}

interface ExporterEndSettings {
  readonly spec: PlannedExporter;
  readonly replaceable: ReplaceableExporter;
  readonly outlet: Outlet;
  readonly logger: Logger;
}

/** An exporter of a graph and its outlet, at which streams end. Deliveries can be held while the outlet is replaced. */
export class ExporterEnd {
  readonly id: string;
  /** As the current config describes it. */
  spec: PlannedExporter;
  readonly outlet: Outlet;
  private readonly replaceable: ReplaceableExporter;
  private readonly logger: Logger;
  private readonly gate = new HoldingGate<WaitingDelivery>((waiting) => this.handOn(waiting));
  private state: "running" | "drained" | "aborted" = "running";

  constructor({ spec, replaceable, outlet, logger }: ExporterEndSettings) {
    this.id = spec.id;
    this.spec = spec;
    this.replaceable = replaceable;
    this.outlet = outlet;
    this.logger = logger;
  }

  get exporter(): Exporter {
    return this.replaceable.exporter;
  }

  /** Refuses the delivery if the outlet throws or has ended. */
  accept(delivery: Delivery, pipeline: string): void {
    this.gate.next({ delivery, pipeline });
  }

  private handOn({ delivery, pipeline }: WaitingDelivery): void {
    if (this.state !== "running") return delivery.refuse(shutdownRefusal());
    try {
      this.outlet.accept(delivery, pipeline);
    } catch (error) {
      delivery.refuse(error);
    }
  }

  /** The outlet calls this exporter from now on. Resolves when the former one can be stopped. */
  use(exporter: Exporter): Promise<void> {
    return this.replaceable.replace(exporter);
  }

  /** From now on deliveries wait, and their senders with them, until `release`. */
  hold(): void {
    this.gate.close();
  }

  /** Hands what was held to the end that takes this one's place, or to this one. */
  release(successor: ExporterEnd = this): void {
    this.gate.open(successor.gate);
  }

  /** Resolves when the outlet has sent everything that it has stored; undefined if it does not want to. */
  empty(): Promise<void> | undefined {
    return this.state === "running" ? this.outlet.empty?.() : undefined;
  }

  /** Never rejects. */
  async drain(): Promise<void> {
    if (this.state !== "running") return;
    try {
      await this.outlet.drain();
    } catch (error) {
      this.logger.error({ err: error }, "the drain failed");
    }
    if (this.state === "running") this.state = "drained";
  }

  /** Everything unsettled is refused. What is held stays. */
  end(): void {
    if (this.state === "running") this.outlet.abort();
    this.state = "aborted";
  }

  /** Everything unsettled is refused, and what is held. */
  abort(): void {
    this.end();
    for (const { delivery } of this.gate.takeWaiting()) delivery.refuse(shutdownRefusal());
  }
}
