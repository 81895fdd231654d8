import { overlap, type ResolvedConfig } from "#config/resolve";
import type { Logger } from "#contract";
import { formatAddress, type SharedSockets } from "#net";
import { type GraphParts, journalUnit, nodeId, type RunningJournal } from "#pipeline";
import { MAX_HELD_MS, type StartedComponent } from "../component-runner.js";
import { taken } from "../running-parts.js";
import type { ReloadPlan, ReloadStep } from "./reload-plan.js";
import type { ReplacedParts, RetiredComponents, RetiringAgent } from "./retire.js";
import type { StoppedParts, StoppingAgent } from "./stopped-parts.js";

/** The agent, as a swap sees it. */
interface SwappedAgent extends StoppingAgent, RetiringAgent {
  readonly sockets: SharedSockets;
  readonly logger: Logger;
  /** Has stopped nothing yet. */
  readonly stopped: StoppedParts;
}

/** A step of a reload, and its inverse. A step that fails leaves nothing to undo. */
interface ReversibleStep {
  readonly name: string;
  readonly do: () => Promise<void> | void;
  /** A step that stops a part has none: the inverse of the first step makes all of these parts anew. */
  readonly undo?: () => Promise<void> | void;
}

/**
 * Replaces the parts of a running agent: does the steps in order, or, if one of them fails, undoes those before it in
 * reverse order. After the last one the graph leads to the new parts, in one synchronous step.
 */
export class Swap {
  private readonly agent: SwappedAgent;
  private readonly before: ResolvedConfig;
  private readonly after: ResolvedConfig;
  private readonly plan: ReloadPlan;
  private prepared: GraphParts | undefined;
  private retired = noComponents();
  /** Put new exporters in front of queues that run on. */
  private exchanges: (() => void)[] = [];

  constructor(agent: SwappedAgent, before: ResolvedConfig, after: ResolvedConfig, plan: ReloadPlan) {
    this.agent = agent;
    this.before = before;
    this.after = after;
    this.plan = plan;
  }

  /** Returns what is to retire now. Rejects if a part cannot be made or started; then the old config runs on. */
  async run(): Promise<ReplacedParts> {
    const done: ReversibleStep[] = [];
    try {
      for (const step of this.steps()) {
        await step.do();
        done.push(step);
      }
    } catch (error) {
      await this.rollBack(done);
      throw error;
    }
    const replaced = this.switch();
    this.agent.sockets.endReload();
    return replaced;
  }

  /** Each step is made when those before it are done, because it may depend on them. */
  private *steps(): Generator<ReversibleStep> {
    const { graph, leaving, running, sockets, stopped } = this.agent;
    const { before, after } = this;

    // 1. What can run beside its predecessor. A failure here ends the reload before anything that runs was touched.
    yield { name: "begin", do: () => sockets.beginReload(), undo: () => stopped.startAgain(before) };
    for (const id of this.changed("extension", "add", "replace")) yield this.startExtension(id);
    yield { name: "reconfigure", do: () => this.reconfigure(after), undo: () => this.reconfigure(before) };
    yield { name: "make the graph", do: () => this.makeGraph(), undo: () => graph.discard() };
    const journals = changedJournals(graph.parts, this.parts);
    const added = this.changed("exporter", "add");
    for (const id of this.changed("exporter", "add", "replace")) yield this.startExporter(id);
    for (const id of added) if (!leaving.has(id)) yield this.startOutlet(id);
    for (const journal of journals.added) yield this.startJournal(journal);
    for (const id of this.receivers("beside", "add", "replace")) yield this.startReceiver(id);

    // 2. What must end before its successor starts. Deliveries for it wait meanwhile.
    for (const id of this.receivers("after", "replace", "remove"))
      yield { name: `stop receiver ${id}`, do: () => stopped.stopReceiver(id) };
    for (const journal of journals.ended)
      yield { name: `stop journal ${journal.name}`, do: () => stopped.stopJournal(journal, this.parts) };
    for (const id of added) {
      if (running.outlets.has(id)) continue;
      yield { name: `stop removed exporter ${id}, which comes back`, do: () => leaving.stop(id) };
      yield this.startOutlet(id);
    }
    for (const id of this.reopened) yield { name: `stop outlet ${id}`, do: () => stopped.stopOutlet(id) };
    for (const id of this.reopened) yield this.startOutlet(id);
    for (const journal of journals.restarted) yield this.startJournal(journal);
    for (const id of this.receivers("after", "add", "replace")) yield this.startReceiver(id);
  }

  /** Former users of sockets get them back before anything ends. */
  private async rollBack(done: readonly ReversibleStep[]): Promise<void> {
    const { logger, sockets } = this.agent;
    const sharing = { name: "share sockets", undo: () => sockets.giveBack() };
    for (const { name, undo } of [...done, sharing].toReversed()) {
      try {
        await undo?.();
      } catch (error) {
        logger.error({ err: error, step: name }, "a step of the failed reload could not be undone");
      }
    }
  }

  /** From here on the graph leads to the new parts. */
  private switch(): ReplacedParts {
    const { graph, running } = this.agent;
    const { parts: old } = graph;
    const { retired } = this;
    const { formers, entries } = graph.use(this.parts);
    graph.budget.limit = this.after.service.intake.max_bytes;
    for (const exchange of this.exchanges) exchange();
    for (const id of this.changed("receiver", "remove")) retired.receivers.push(...taken(running.receivers, id));
    for (const id of this.changed("extension", "remove")) retired.extensions.push(...taken(running.extensions, id));
    const removed = this.changed("exporter", "remove").map((id) => {
      return { id, outlet: old.exporters.get(id)!.outlet, end: old.wiring.end(nodeId("exporter", id)) };
    });
    // An error that was made before the switch keeps the swap in memory, and must not keep all of its parts.
    this.prepared = undefined;
    this.exchanges = [];
    this.retired = noComponents();
    return { ...retired, formers, entries, removed };
  }

  private makeGraph(): void {
    const { graph } = this.agent;
    const keeps = (unit: string) => this.plan.kept.has(unit);
    this.prepared = graph.prepare(this.after, this.agent.services(this.after), { parts: graph.parts, keeps });
  }

  private get parts(): GraphParts {
    return this.prepared!;
  }

  private reconfigure({ extensions }: ResolvedConfig): void {
    for (const [id, { factory, config }] of extensions)
      if (factory.restartKeys !== undefined) this.agent.running.extensions.get(id)?.extension.reconfigure?.(config);
  }

  private startExtension(id: string): ReversibleStep {
    const { running } = this.agent;
    const spec = this.after.extensions.get(id)!;
    const start = () => running.startExtension(spec);
    return this.start(`start extension ${id}`, running.extensions, id, start, this.retired.extensions);
  }

  /** If its queue runs on, the exporter takes the place of the former one at the switch. */
  private startExporter(id: string): ReversibleStep {
    const { graph, running, runner } = this.agent;
    const name = `start exporter ${id}`;
    const spec = this.after.exporters.get(id)!;
    const end = this.parts.exporters.get(id)!;
    if (end !== graph.parts.exporters.get(id)) {
      const start = () => running.startExporter(spec, end.exporter);
      return this.start(name, running.exporters, id, start, this.retired.exporters);
    }
    const former = running.exporters.get(id);
    return this.start(name, running.exporters, id, () => {
      const exporter = graph.createExporter(spec, this.agent.services(this.after));
      if (former !== undefined) this.exchanges.push(() => void end.use(exporter).then(() => runner.stopAll([former])));
      return running.startExporter(spec, exporter);
    });
  }

  private startOutlet(id: string): ReversibleStep {
    const { running } = this.agent;
    const end = this.parts.exporters.get(id)!;
    return this.start(`start outlet ${id}`, running.outlets, id, () => running.startOutlet(end));
  }

  private startJournal(planned: RunningJournal): ReversibleStep {
    const { running, stopped } = this.agent;
    const { name, journal } = planned;
    const start = () => running.startJournal(planned, this.after);
    const step = this.start(`start journal ${name}`, running.journals, name, start);
    if (!stopped.has(journalUnit(name))) return step;
    const undo = async () => {
      journal.abort(); // its stream has not begun, so nothing else ends it
      await step.undo();
    };
    return { ...step, undo };
  }

  private startReceiver(id: string): ReversibleStep {
    const { running } = this.agent;
    const receiver = this.parts.receivers.get(id)!;
    const start = () => running.startReceiver(receiver);
    return this.start(`start receiver ${id}`, running.receivers, id, start, this.retired.receivers);
  }

  /** Starts a component in the place of another one, which is then among the retired. */
  private start<T extends StartedComponent>(
    name: string,
    all: Map<string, T>,
    id: string,
    start: () => Promise<T>,
    retired?: T[],
  ): ReversibleStep & Required<Pick<ReversibleStep, "undo">> {
    const former = all.get(id);
    const undo = async () => {
      const started = all.get(id)!;
      if (former === undefined) all.delete(id);
      else all.set(id, former);
      await this.agent.runner.stopInTime([started], MAX_HELD_MS);
    };
    const act = async () => {
      await start();
      if (former !== undefined) retired?.push(former);
    };
    return { name, do: act, undo };
  }

  /** Receivers that take over sockets run beside their predecessors. */
  private receivers(way: "beside" | "after", ...actions: readonly ReloadStep["action"][]): string[] {
    const { before, after } = this;
    const isWanted = (id: string) =>
      handsOver(before.receivers.get(id), after.receivers.get(id)) === (way === "beside");
    return this.changed("receiver", ...actions).filter(isWanted);
  }

  private changed(kind: ReloadStep["kind"], ...actions: readonly ReloadStep["action"][]): string[] {
    return this.plan.steps.filter((each) => each.kind === kind && actions.includes(each.action)).map(({ id }) => id);
  }

  /** Exporters whose queues are opened anew. */
  private get reopened(): string[] {
    return this.plan.steps.filter((each) => each.kind === "exporter" && each.reopensQueue === true).map(({ id }) => id);
  }
}

function noComponents(): RetiredComponents {
  return { receivers: [], exporters: [], extensions: [] };
}

function changedJournals({ journals: before }: GraphParts, { journals: after }: GraphParts) {
  const ended = before.filter((each) => !after.includes(each));
  const started = after.filter((each) => !before.includes(each));
  const isRestart = ({ name }: RunningJournal) => ended.some((each) => each.name === name);
  return {
    ended,
    restarted: started.filter(isRestart),
    added: started.filter((each) => !isRestart(each)),
  };
}

type ResolvedReceiver = ResolvedConfig["receivers"] extends ReadonlyMap<string, infer Spec> ? Spec : never;

/** An added receiver has nothing to take over: it starts early if its kind can. */
function handsOver(before: ResolvedReceiver | undefined, after: ResolvedReceiver | undefined): boolean {
  if (before === undefined) return after?.factory.handsOver !== undefined;
  const specs = after === undefined ? [before] : [before, after];
  return specs.every(({ factory, config }) => factory.handsOver?.(config) === true) && !movesWithinPort(specs);
}

/** Whether a receiver gets another address that only one of the two can listen at, such as all hosts with the same port. */
function movesWithinPort([before, after]: readonly ResolvedReceiver[]): boolean {
  const addressesOf = ({ factory, config }: ResolvedReceiver) => factory.listensAt?.(config) ?? [];
  if (before === undefined || after === undefined) return false;
  return addressesOf(before).some((old) =>
    addressesOf(after).some((one) => overlap(old, one) && formatAddress(old.address) !== formatAddress(one.address)),
  );
}
