import type { Processor } from "../contract/component.js";
import type { Journal, JournalFactory, JournalSettings, OutletSettings } from "../contract/outlet.js";
import type { GraphPlan, PlannedPipeline } from "../contract/plan.js";
import type { Signal } from "../telemetry/bytes/signal.js";
import type { ComponentServices } from "./component-maker.js";
import { fanOut } from "./fan-out.js";
import type { DeliveryConsumer } from "./intake.js";
import { holdsDeliveries } from "./journal-place.js";
import type { PartialAcceptance } from "./partial-acceptance.js";
import { connectorJournalName } from "./replay-steps.js";
import { aroundJournal, type RunningPipeline, runPipeline } from "./run-pipeline.js";

export interface RunningJournal {
  readonly owner: JournalOwner;
  readonly journal: Journal;
}

/** The pipeline or connector that a journal stands in front of, and its path in the config. */
export interface JournalOwner {
  readonly id: string;
  readonly path: readonly string[];
}

/** A journal under the name that the pipelines behind it go by. */
interface NamedJournal {
  readonly name: string;
  readonly journal: Journal;
}

interface GraphJournalsSettings extends ComponentServices {
  readonly plan: GraphPlan;
  readonly intakeLimit: number;
  readonly journalFactory?: JournalFactory | undefined;
  readonly keepsRefused?: boolean | undefined;
  readonly replay: Pick<OutletSettings, "prepareReplay" | "hasPipeline">;
  readonly createMemory: () => PartialAcceptance<DeliveryConsumer>;
}

/** A connector behind a journal keeps no bytes, only what it owes: the window bounds how much is read again after a crash. */
const CONNECTOR_WINDOW_BYTES = 256 * 1024 * 1024;

/** The journals of a graph, and what runs in front of them and behind. */
export class GraphJournals {
  private readonly settings: GraphJournalsSettings;
  private readonly journals = new Map<string, RunningJournal>();
  private readonly behindJournals = new Map<string, RunningPipeline>();

  constructor(settings: GraphJournalsSettings) {
    this.settings = settings;
  }

  /** In the order in which they were made. */
  get all(): readonly RunningJournal[] {
    return [...this.journals.values()];
  }

  get(pipeline: string): Journal | undefined {
    return this.journals.get(pipeline)?.journal;
  }

  /** The processors behind it are made with it. */
  createOfPipeline(planned: PlannedPipeline): Journal | undefined {
    const { id: pipeline, signal, durableIntake = "auto" } = planned;
    const durable = durableIntake === "auto" && !holdsDeliveries(this.settings.plan, planned) ? "off" : durableIntake;
    const keepsRefused = this.settings.keepsRefused === true && durableIntake !== "off";
    return this.add(
      { pipeline, signal, durable, keepsRefused, windowBytes: this.settings.intakeLimit },
      { id: pipeline, path: ["service", "pipelines", pipeline] },
      `intake of pipeline ${pipeline}`,
    );
  }

  /** Undefined for a connector that never wants one. */
  createOfConnector(
    kind: "connector" | "processor",
    owner: JournalOwner,
    isWanted: boolean | undefined,
    signal: Signal,
  ): NamedJournal | undefined {
    if (isWanted === undefined) return undefined;
    const name = connectorJournalName(kind, owner.id);
    const durable = isWanted ? "auto" : "off";
    const settings = { signal, durable, windowBytes: CONNECTOR_WINDOW_BYTES, letsGoOfPayloads: true } as const;
    const journal = this.add({ pipeline: name, ...settings }, owner, `journal of ${kind} ${owner.id}`);
    return journal && { name, journal };
  }

  /** One pipeline of what is done before anything is in the journal and of what comes behind it. */
  run(
    journal: Journal,
    name: string,
    processorsBefore: readonly Processor[],
    processorsBehind: readonly Processor[],
    output: DeliveryConsumer,
  ): RunningPipeline {
    const logger = this.settings.logger.child({ pipeline: name });
    const behind = runPipeline(processorsBehind, output, logger);
    const toJournal = fanOut([(delivery) => journal.accept(delivery)], this.settings.createMemory());
    const before = runPipeline(processorsBefore, toJournal, logger);
    this.behindJournals.set(name, behind);
    return aroundJournal(before, journal, behind);
  }

  private add(
    settings: Omit<JournalSettings, "consumer" | "clock" | "random" | "metrics" | "logger">,
    owner: JournalOwner,
    component: string,
  ): Journal | undefined {
    const { journalFactory, clock, random, metrics, replay } = this.settings;
    const logger = this.settings.logger.child({ component });
    const consumer: DeliveryConsumer = (delivery) => this.behindJournals.get(settings.pipeline)!.consume(delivery);
    const journal = journalFactory?.({ ...settings, consumer, clock, random, metrics, logger, ...replay });
    if (journal !== undefined) this.journals.set(settings.pipeline, { owner, journal });
    return journal;
  }
}
