import { filter, identity, type MonoTypeOperatorFunction } from "rxjs";
import {
  type Delivery,
  type GraphPlan,
  type PlannedComponent,
  type PlannedExporter,
  type PlannedPipeline,
  type Processor,
  type ReceiverFactory,
  refusalOfSetback,
} from "#contract";
import { workerMode } from "#contract/operators";
import type { Signal } from "#otlp/signals";
import { OutletRoutes } from "./create-outlet.js";
import { nodeId, processorNodeId } from "./describe-graph.js";
import { GraphJournals, type RunningJournal } from "./graph-journals.js";
import { countedBy } from "./intake/intake.js";
import type { Choose } from "./junction.js";
import type { PartMaker, PartSettings, PlannedConnector, RunningReceiver } from "./part-maker.js";
import { chosenName, journalPlace, reachesExporter } from "./plan-paths.js";
import type { ReplaySteps } from "./replay-steps.js";
import { outgoing, type RunningExporter } from "./running-exporter.js";
import type { GraphEntry } from "./streams.js";
import { Wiring } from "./wiring.js";
import { exchangeOperator, type WorkerSpec } from "./worker-exchange.js";

/** All parts of a graph. A reload makes new parts from a new plan, and takes over the parts that stay. */
export interface GraphParts {
  readonly plan: GraphPlan;
  readonly wiring: Wiring;
  readonly receivers: ReadonlyMap<string, RunningReceiver>;
  readonly exporters: ReadonlyMap<string, RunningExporter>;
  readonly routes: ReadonlyMap<string, OutletRoutes>;
  /** In start order: each comes after those that it feeds. */
  readonly journals: readonly RunningJournal[];
  readonly replaySteps: ReplaySteps;
}

/** Parts of the running graph, and which of them a new plan takes over. */
export interface TakenOver {
  readonly parts: GraphParts;
  /** Told by the id of a node, or `journal:NAME`. A part that does not run is made anew in any case. */
  readonly keeps: (unit: string) => boolean;
}

/** The unit that a journal is for the plan of a reload. */
export function journalUnit(name: string): string {
  return `journal:${name}`;
}

/**
 * Makes the parts of a graph from its plan, and leads from one to the next:
 *
 *     receivers ---+                                       +---> exporters: an outlet, mostly with a queue
 *     (entries)    +--> pipeline: processors --> junction --+
 *     connectors --+                                       +---> connectors: a place, then a choice of pipelines
 *
 * Nothing that runs is changed before the wiring is used.
 *
 * No part may keep the builder, which knows all parts of its config and of the one before: they would stay in memory for
 * as long as one of them runs, and with a chain of reloads for ever.
 */
export class GraphBuilder {
  private readonly settings: PartSettings;
  private readonly maker: PartMaker;
  private readonly plan: GraphPlan;
  private readonly takenOver: TakenOver | undefined;
  private readonly journals: GraphJournals;
  private readonly wiring: Wiring;
  private readonly exporters = new Map<string, RunningExporter>();
  private readonly routes = new Map<string, OutletRoutes>();
  /** The last places of the pipelines, by their ids. */
  private readonly lastPlaces = new Map<string, string>();

  constructor(settings: PartSettings, maker: PartMaker, takenOver: TakenOver | undefined) {
    this.settings = settings;
    this.maker = maker;
    this.plan = settings.plan;
    this.takenOver = takenOver;
    this.wiring = new Wiring({ ...settings, running: takenOver?.parts.wiring });
    const kept = (name: string) => this.kept(journalUnit(name))?.journals.find((journal) => journal.name === name);
    this.journals = new GraphJournals(settings, kept);
  }

  build(): GraphParts {
    const { plan, wiring, exporters, routes } = this;
    for (const spec of plan.exporters.values()) this.addExporter(spec);
    for (const pipeline of plan.pipelines) this.addPipeline(pipeline); // each comes after those that feed it
    const receivers = new Map([...plan.receivers].map(([id, spec]) => [id, this.receiver(spec)]));
    wiring.begin();
    const replaySteps = this.maker.replaySteps();
    return { plan, wiring, receivers, exporters, routes, journals: this.journals.all.toReversed(), replaySteps };
  }

  /** Receivers and connectors ---> processors ---> exporters. */
  private addPipeline(pipeline: PlannedPipeline): void {
    const inputs = pipeline.receivers.flatMap((id) => this.inputs(id, pipeline));
    const places = this.placesOf(pipeline);
    for (const { from, node } of inputs) {
      const flow = this.settings.flows.from(node, pipeline.id);
      this.wiring.connect(from, pipelineKey(chosenName(pipeline)), places[0]!, countedBy(flow));
    }
    this.wiring.connectInLine(places);
    this.lastPlaces.set(pipeline.id, places.at(-1)!);
    for (const id of pipeline.exporters) this.leadToExporter(id, pipeline.id);
  }

  // Receivers

  /** A receiver that stays keeps its intakes. */
  private receiver(spec: PlannedComponent<ReceiverFactory>): RunningReceiver {
    const running = this.kept(nodeId("receiver", spec.id))?.receivers.get(spec.id);
    if (running !== undefined) return { ...running, spec };
    return this.maker.receiver(spec, (signal) => this.entryOf(spec.id, signal).source);
  }

  /** The entry of a receiver's batches. It stays when the receiver is replaced, because it holds nothing. */
  private entryOf(receiver: string, signal: Signal): GraphEntry {
    return this.wiring.entry(`${nodeId("receiver", receiver)} ${signal}`);
  }

  /** Where a pipeline's deliveries come from: an entry, or the places of a connector, one for each signal it reads. */
  private inputs(id: string, pipeline: PlannedPipeline): { readonly from: string; readonly node: string }[] {
    const connector = this.plan.connectors.get(id);
    if (connector === undefined) return [{ from: this.entryOf(id, pipeline.signal).key, node: nodeId("receiver", id) }];
    const { routes } = connector.factory;
    const signals = [...new Set(this.pipelinesInto(connector).map(({ signal }) => signal))];
    const read = signals.filter((signal) => routes.some(({ from, to }) => from === signal && to === pipeline.signal));
    const node = nodeId("connector", id);
    return read.map((signal) => ({ from: this.connector(connector, signal, pipeline.signal), node }));
  }

  // Processors

  /** The processors of a pipeline with the exchanges in front of them, and its journal if it has one. At least one place. */
  private placesOf(pipeline: PlannedPipeline): string[] {
    const journal = this.journals.createOfPipeline(pipeline);
    const at = journalPlace(this.plan, pipeline);
    const places = pipeline.processors.flatMap((id, index) => [
      ...this.exchanges(processorNodeId(pipeline.id, id), this.plan.processors.get(id)!),
      ...(index === at ? this.journalPlaces(journal) : []),
      this.processor(id, pipeline, index < at ? undefined : journal),
    ]);
    if (at === pipeline.processors.length) places.push(...this.journalPlaces(journal));
    return places.length > 0 ? places : [this.place(pipelineKey(pipeline.id), undefined, () => identity)];
  }

  private processor(id: string, pipeline: PlannedPipeline, behind: RunningJournal | undefined): string {
    const spec = this.plan.processors.get(id)!;
    const node = processorNodeId(pipeline.id, id);
    return this.place(node, node, () => this.maker.processor(spec, pipeline, behind?.journal.notesOf(id)));
  }

  private journalPlaces(journal: RunningJournal | undefined): string[] {
    if (journal === undefined) return [];
    const unit = journalUnit(journal.name);
    return [this.place(unit, unit, () => journal.operator)];
  }

  /** All workers of an agent know an exchange by the same key. It stays at a reload, because it keeps nothing. */
  private exchanges(before: string, { factory, config }: WorkerSpec): string[] {
    const { exchange, budget } = this.settings;
    const mode = workerMode(factory, config);
    if (exchange === undefined || mode === "each") return [];
    const key = `exchange:${mode}:${before}`;
    return [this.place(key, undefined, () => exchangeOperator(exchange, key, mode, () => budget.limit))];
  }

  // Connectors

  /** The place of a connector between two signals, with an exchange and a journal in front of it if it needs them. */
  private connector(spec: PlannedConnector, from: Signal, to: Signal): string {
    const node = nodeId("connector", spec.id);
    const key = `${node} ${from}>${to}`;
    if (this.wiring.hasPlace(key)) return key;
    const running = this.journals.createOfConnector(spec.id, spec.factory.wantsJournal?.(spec.config), from);
    const make = () => this.maker.connector(spec, from, to, running?.journal.exchange);
    this.place(key, node, make, chosenPipelines);
    const journaled = [...this.journalPlaces(running), key];
    const places = [...this.exchanges(journaled[0]!, spec), ...journaled];
    this.wiring.connectInLine(places);
    for (const pipeline of this.pipelinesInto(spec).filter(({ signal }) => signal === from)) {
      const passing = from === to ? undefined : withoutSetbacks(reachesExporter(this.plan, pipeline));
      this.wiring.connect(this.lastPlaces.get(pipeline.id)!, key, places[0]!, passing);
    }
    return key;
  }

  private pipelinesInto({ id }: PlannedConnector): PlannedPipeline[] {
    return this.plan.pipelines.filter(({ exporters }) => exporters.includes(id));
  }

  // Exporters

  private addExporter(spec: PlannedExporter): void {
    const key = nodeId("exporter", spec.id);
    const kept = this.kept(key);
    const running = kept?.exporters.get(spec.id);
    const routes = (running && kept?.routes.get(spec.id)) ?? new OutletRoutes(this.plan, spec.id);
    const exporter = running ?? this.maker.exporter(spec, routes);
    this.exporters.set(spec.id, exporter);
    this.routes.set(spec.id, routes);
    this.wiring.addEnd(key, running === undefined ? exporter.operator : undefined);
  }

  /** Connectors are led to when the first pipeline that they feed is added. */
  private leadToExporter(id: string, pipeline: string): void {
    const spec = this.plan.exporters.get(id);
    if (spec === undefined) return;
    const end = nodeId("exporter", id);
    const from = this.lastPlaces.get(pipeline)!;
    const [exchange] = this.exchanges(`${end}@${pipeline}`, spec);
    if (exchange !== undefined) this.wiring.connect(from, end, exchange);
    const last = exchange ?? from; // an exchange may have several ways in, and has one way on
    if (!this.wiring.isConnected(last, end)) this.wiring.connectToEnd(last, end, outgoing(pipeline));
  }

  /** The running parts, if this one of them stays. */
  private kept(unit: string): GraphParts | undefined {
    return this.takenOver?.keeps(unit) === true ? this.takenOver.parts : undefined;
  }

  /** The place with this key: known, taken over if its unit stays, or with a component made now. Without a unit, it always stays. */
  private place(key: string, unit: string | undefined, make: () => Processor, choose?: Choose): string {
    if (this.wiring.hasPlace(key)) return key;
    const parts = unit === undefined ? this.takenOver?.parts : this.kept(unit);
    const stays = parts?.wiring.hasPlace(key) === true;
    this.wiring.addPlace(key, { version: stays ? undefined : make(), choose });
    return key;
  }
}

/** A connector's deliveries go to the pipelines that it chose, once each, or to all of them. */
const chosenPipelines: Choose = ({ route }) => route && new Set(route.map(pipelineKey));

function pipelineKey(id: string): string {
  return `pipeline:${id}`;
}

/**
 * Deliveries with a setback do not pass, and are settled: a connector that changes the signal does not convert dead
 * letters. They are accepted if another branch of their pipeline keeps them, and refused otherwise.
 */
function withoutSetbacks(isKeptElsewhere: boolean): MonoTypeOperatorFunction<Delivery> {
  return filter((delivery: Delivery) => {
    const { setback } = delivery;
    if (setback === undefined) return true;
    if (isKeptElsewhere || setback.onlyIfAlwaysSaved) delivery.drop();
    else delivery.refuse(refusalOfSetback(setback));
    return false;
  });
}
