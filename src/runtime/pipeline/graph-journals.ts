import { defer, from, merge } from "rxjs";
import type { Delivery, PlannedPipeline, Processor } from "#contract";
import type { Journal, JournalSettings } from "#contract/operators";
import type { Signal } from "#otlp/signals";
import type { PartSettings } from "./part-maker.js";
import { holdsDeliveries } from "./plan-paths.js";
import { connectorJournalName } from "./replay-steps.js";
import { DeliverySource, through } from "./streams.js";

export interface RunningJournal {
  readonly journal: Journal;
  /** Puts the journal into a stream. */
  readonly operator: Processor;
  /** The pipeline, or the name that stands for one. */
  readonly name: string;
  /** Of the pipeline or connector behind it, in the config. */
  readonly path: readonly string[];
}

/** A connector behind a journal keeps debts, not bytes: the window bounds how much is read again after a crash. */
const CONNECTOR_WINDOW_BYTES = 256 * 1024 * 1024;

/** Creates the journals of a graph, and takes over those that stay. */
export class GraphJournals {
  private readonly settings: PartSettings;
  /** Returns the running journal of this name if it stays. */
  private readonly kept: (name: string) => RunningJournal | undefined;
  private readonly journals = new Map<string, RunningJournal>();

  constructor(settings: PartSettings, kept: (name: string) => RunningJournal | undefined) {
    this.settings = settings;
    this.kept = kept;
  }

  /** In order of creation. */
  get all(): readonly RunningJournal[] {
    return [...this.journals.values()];
  }

  /** Must be called before the processors behind the journal are created, because they keep notes in it. */
  createOfPipeline(planned: PlannedPipeline): RunningJournal | undefined {
    const { id: pipeline, signal, durableIntake = "auto" } = planned;
    const durable = durableIntake === "auto" && !holdsDeliveries(this.settings.plan, planned) ? "off" : durableIntake;
    const keepsRefused = this.settings.keepsRefused === true && durableIntake !== "off";
    return this.add(
      { pipeline, signal, durable, keepsRefused, windowBytes: this.settings.budget.limit },
      ["service", "pipelines", pipeline],
      `intake of pipeline ${pipeline}`,
    );
  }

  /** Undefined for a connector that never needs one. */
  createOfConnector(id: string, isWanted: boolean | undefined, signal: Signal): RunningJournal | undefined {
    if (isWanted === undefined) return undefined;
    const pipeline = connectorJournalName(id);
    const durable = isWanted ? "auto" : "off";
    const settings = { signal, durable, windowBytes: CONNECTOR_WINDOW_BYTES, releasesPayloads: true } as const;
    return this.add({ pipeline, ...settings }, ["connectors", id], `journal of connector ${id}`);
  }

  private add(
    settings: Omit<JournalSettings, "consumer" | "clock" | "random" | "metrics" | "logger">,
    path: readonly string[],
    component: string,
  ): RunningJournal | undefined {
    const { journalFactory, clock, random, metrics, replay } = this.settings;
    const kept = this.kept(settings.pipeline);
    if (kept !== undefined) {
      this.journals.set(settings.pipeline, kept);
      return kept;
    }
    const logger = this.settings.logger.child({ component });
    const output = new DeliverySource();
    // A journal that takes another one's place starts before the graph leads to it: its window bounds what waits here.
    let early: Delivery[] | undefined = [];
    const consumer: JournalSettings["consumer"] = (delivery) =>
      early === undefined ? output.next(delivery) : void early.push(delivery);
    const journal = journalFactory?.({ ...settings, consumer, clock, random, metrics, logger, ...replay });
    if (journal === undefined) return undefined;
    const begin = defer(() => {
      const first = early ?? [];
      early = undefined;
      return from(first);
    });
    const operator: Processor = (input) => merge(input.pipe(through(journal, output, logger)), begin);
    const running = { path, journal, operator, name: settings.pipeline };
    this.journals.set(settings.pipeline, running);
    return running;
  }
}
