import type { Batch } from "../telemetry/batch.js";
import type { Signal } from "../telemetry/bytes/signal.js";
import type { Clock } from "./clock.js";
import type { Exporter } from "./component.js";
import type { Delivery } from "./delivery.js";
import type { Logger, Metrics } from "./observability.js";
import type { BatcherSettings } from "./operators/batcher.js";
import type { ExporterSettings } from "./schema/exporter-settings.js";

/** The end of a pipeline: takes responsibility for what it is given, or refuses it. */
export interface Outlet {
  /** Opens what it keeps data in. Called once, when its exporter has started, before the first `accept`. */
  start?(): Promise<void>;
  /**
   * Settles the delivery, now or later. `pipeline` is the one it comes from. One with a setback is kept as a dead
   * letter, or refused when there is nowhere to keep it.
   */
  accept(delivery: Delivery, pipeline: string): void;
  /** False while what it is given would only wait. */
  readonly isAvailable?: boolean;
  /** Called when nothing more comes. Resolves when nothing is being sent any more; what is kept durably may stay. */
  drain(): Promise<void>;
  /** Breaks off whatever is being sent; deliveries that nobody has answered for are refused. */
  abort(): void;
  /** Closes what it keeps data in. Called once, after drain or abort, before its exporter stops. */
  stop?(): Promise<void>;
}

/** How the records of a pipeline are merged when they are sent. */
export interface Batching extends BatcherSettings {
  /** Client metadata that keeps records apart, by lower-case name. */
  readonly metadataKeys: readonly string[];
}

/** What an outlet is made from: its exporter, the settings and the services of the agent. */
export interface OutletSettings {
  readonly id: string;
  readonly exporter: Exporter;
  /** What the exporter's config says of the keys every exporter has; what it does not say is undefined. */
  readonly settings: ExporterSettings;
  /** The defaults that the exporter's type has for them. */
  readonly typeDefaults: ExporterSettings;
  /** The signals of the pipelines that end in this exporter. */
  readonly signals?: readonly Signal[];
  /** What the pipelines that end in this exporter want merged, by pipeline; those that want nothing merged have none. */
  readonly batching?: ReadonlyMap<string, Batching>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** To be done to a batch from this pipeline before it is sent again; throws a `Refusal` when it is not fit to be. */
  readonly prepareReplay?: (batch: Batch, pipeline: string) => Batch;
}

/** Makes the outlet of an exporter. */
export type OutletFactory = (settings: OutletSettings) => Outlet;
