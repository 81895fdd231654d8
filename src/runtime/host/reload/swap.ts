import { overlap, type ResolvedConfig } from "#config/resolve";
import type { Clock, Exporter, Logger } from "#contract";
import { waitAtMost } from "#contract/time";
import { formatAddress, type SharedSockets } from "#net";
import {
  type Former,
  type Graph,
  type GraphParts,
  type GraphServices,
  journalUnit,
  nodeId,
  type PreparedParts,
  type Retired,
  type RunningExporter,
  whenEnded,
} from "#pipeline";
import { type ComponentRunner, STOP_GRACE_MS, type StartedComponent } from "../component-runner.js";
import type { RunningParts, StartedExtension } from "../running-parts.js";
import type { LeavingExporters } from "./leaving-exporters.js";
import type { ReloadPlan, ReloadStep } from "./reload-plan.js";

/** How long a part that must end before its successor starts may take, in milliseconds. Then what it does is aborted. */
const MAX_HELD_MS = 5000;

type ResolvedReceiver = ResolvedConfig["receivers"] extends ReadonlyMap<string, infer Spec> ? Spec : never;

/** The agent, as a swap sees it. */
interface SwappedAgent {
  readonly graph: Graph;
  readonly running: RunningParts;
  readonly runner: ComponentRunner;
  readonly sockets: SharedSockets;
  readonly leaving: LeavingExporters;
  readonly clock: Clock;
  readonly logger: Logger;
  /** With the extensions that run now. */
  services(config: ResolvedConfig): GraphServices;
}

/** The work that is left after a swap. Resolves when everything that was replaced or removed has ended. */
type Retire = (timeoutMs: number) => Promise<void>;

/**
 * Replaces the parts of a running agent, step by step:
 *
 * 1. Everything that can run beside its predecessor is made and started: extensions, exporters, new queues, and
 *    receivers that take over a socket. A failure here ends the swap before anything that runs was touched.
 * 2. Parts that cannot run twice are exchanged: receivers without a socket, journals, and queues whose settings have
 *    changed. Deliveries for them wait meanwhile. After a failure here, the old parts are made and started again.
 * 3. The graph leads to the new parts from now on, in one synchronous step.
 * 4. What was replaced is drained and stopped (`Retire`).
 */
export class Swap {
  private readonly agent: SwappedAgent;
  private readonly before: ResolvedConfig;
  private readonly after: ResolvedConfig;
  private readonly plan: ReloadPlan;
  private old: GraphParts;
  private used: GraphParts | undefined;
  private replaced: Retired = { formers: [], entries: [] };
  private readonly undo: (() => Promise<void>)[] = [];
  private readonly retired: StartedComponent[] = [];
  private readonly retiredExporters: StartedComponent[] = [];
  private readonly retiredExtensions: StartedExtension[] = [];
  /** Senders that take the place of others behind the same queue, and how the others are stopped. */
  private readonly senders = new Map<string, { readonly exporter: Exporter; readonly former: StartedComponent }>();
  /** Exporters that come back while their queues are being emptied. */
  private readonly returning = new Set<string>();
  /** Units that were stopped in step 2; after a failure they are made anew. */
  private readonly torn = new Set<string>();
  /** Why parts of the old config could not be started again after a failure. */
  readonly lost: unknown[] = [];

  constructor(agent: SwappedAgent, before: ResolvedConfig, after: ResolvedConfig, plan: ReloadPlan) {
    this.agent = agent;
    this.before = before;
    this.after = after;
    this.plan = plan;
    this.old = agent.graph.parts;
  }

  /** Rejects if a part cannot be made or started; then the old config runs on. */
  async run(): Promise<Retire> {
    const { sockets, graph } = this.agent;
    sockets.beginReload();
    let prepared: PreparedParts | undefined;
    try {
      await this.startExtensions();
      prepared = graph.prepare(this.after, this.agent.services(this.after), {
        parts: this.old,
        keeps: (unit) => this.plan.kept.has(unit),
      });
      await this.startBeside(prepared.parts);
      await this.exchange(prepared.parts);
    } catch (error) {
      await this.rollBack();
      throw error;
    }
    this.use(prepared);
    sockets.endReload();
    return (timeoutMs) => this.retire(timeoutMs).finally(() => this.forget());
  }

  /** Step 1: extensions. */
  private async startExtensions(): Promise<void> {
    const { running } = this.agent;
    for (const step of this.steps("extension", "add", "replace")) {
      const former = running.extensions.get(step.id);
      const started = await running.startExtension(this.after.extensions.get(step.id)!);
      if (former !== undefined) this.retiredExtensions.push(former);
      this.undo.push(async () => {
        if (former === undefined) running.extensions.delete(step.id);
        else running.extensions.set(step.id, former);
        await this.stopSoon([started]);
      });
    }
    this.reconfigure(this.after);
    this.undo.push(async () => this.reconfigure(this.before));
  }

  private reconfigure({ extensions }: ResolvedConfig): void {
    for (const [id, { factory, config }] of extensions)
      if (factory.restartKeys !== undefined) this.agent.running.extensions.get(id)?.extension.reconfigure?.(config);
  }

  /** Step 1: everything else that can run beside its predecessor. */
  private async startBeside(parts: GraphParts): Promise<void> {
    const { running, graph } = this.agent;
    for (const step of this.steps("exporter", "add", "replace")) {
      const spec = this.after.exporters.get(step.id)!;
      const end = parts.exporters.get(step.id)!;
      const isNew = end !== this.old.exporters.get(step.id);
      const exporter = isNew ? end.exporter : graph.createExporter(spec, this.agent.services(this.after));
      const former = running.exporters.get(step.id);
      if (former !== undefined && isNew) this.retiredExporters.push(former);
      else if (former !== undefined) this.senders.set(step.id, { exporter, former });
      await this.startReplacing(running.exporters, step.id, () => running.startExporter(spec, exporter));
      if (step.action !== "add") continue;
      if (this.agent.leaving.has(step.id)) this.returning.add(step.id);
      else await this.startReplacing(running.outlets, step.id, () => running.startOutlet(end));
    }
    for (const journal of parts.journals) {
      if (this.old.journals.some(({ name }) => name === journal.name)) continue;
      await this.startReplacing(running.journals, journal.name, () => running.startJournal(journal, this.after));
    }
    for (const id of this.receivers((step) => step.action !== "remove" && this.handsOver(step)))
      await this.startReceiver(parts, id);
  }

  /** Step 2: parts that must end before their successors start. */
  private async exchange(parts: GraphParts): Promise<void> {
    const { running } = this.agent;
    const stoppedFirst = this.receivers((step) => step.action !== "add" && !this.handsOver(step));
    for (const id of stoppedFirst) await this.stopFirst(nodeId("receiver", id), [running.receivers.get(id)!]);
    const journals = this.old.journals.filter((journal) => !parts.journals.includes(journal));
    for (const { name } of journals) await this.endJournal(name, parts);
    for (const id of this.returning) {
      await this.agent.leaving.stop(id);
      await this.startReplacing(running.outlets, id, () => running.startOutlet(parts.exporters.get(id)!));
    }
    const ends = [...this.old.exporters.values()].filter(({ id }) => this.isReopened(id));
    for (const end of ends) await this.endOutlet(end);
    for (const end of ends)
      await this.startReplacing(running.outlets, end.id, () => running.startOutlet(parts.exporters.get(end.id)!));
    const restarted = parts.journals.filter(({ name }) => journals.some((old) => old.name === name));
    for (const journal of restarted) {
      await this.startReplacing(running.journals, journal.name, () => running.startJournal(journal, this.after));
      this.undo.push(async () => journal.journal.abort()); // its stream has not begun, so nothing else ends it
    }
    for (const id of this.receivers((step) => step.action !== "remove" && !this.handsOver(step)))
      await this.startReceiver(parts, id);
  }

  /**
   * Ends a journal with the processors behind it that hold deliveries. Entries that are not settled in time stay in the
   * store, and its successor hands them on again.
   */
  private async endJournal(name: string, parts: GraphParts): Promise<void> {
    const { running, runner, clock } = this.agent;
    const unit = journalUnit(name);
    const started = running.journals.get(name);
    if (!this.old.wiring.hasPlace(unit) || started === undefined) return;
    const { journal } = this.old.journals.find((each) => each.name === name)!;
    const left = [unit, ...placesBehind(name, parts.wiring.changes)];
    const formers: Former[] = [];
    const endNext = async (): Promise<void> => {
      const key = left.shift();
      if (key === undefined) return journal.whenSettled?.();
      formers.push(this.hold(key));
      await whenEnded(formers.slice(-1));
      return endNext();
    };
    await waitAtMost(MAX_HELD_MS, endNext(), clock);
    for (const key of left.splice(0)) formers.push(this.hold(key));
    for (const former of formers) former.abort();
    await runner.stopAll([started]);
  }

  /** Holds what comes to a place whose component ends now. After a failure the component is made anew. */
  private hold(key: string): Former {
    for (const unit of [key, key.split(" ", 1)[0]!]) this.torn.add(unit);
    return this.old.wiring.hold(key);
  }

  private async endOutlet({ id }: RunningExporter): Promise<void> {
    const { runner, running } = this.agent;
    const former = this.hold(nodeId("exporter", id));
    await runner.waitFor(whenEnded([former]), MAX_HELD_MS, () => former.abort());
    await runner.waitFor(runner.stopAll([running.outlets.get(id)!]), STOP_GRACE_MS);
  }

  private async stopFirst(unit: string, components: readonly StartedComponent[]): Promise<void> {
    this.torn.add(unit);
    await this.agent.runner.waitFor(this.agent.runner.stopAll(components), MAX_HELD_MS);
  }

  /** Step 3. */
  private use(prepared: PreparedParts): void {
    const { graph, running } = this.agent;
    const { parts } = prepared;
    this.replaced = graph.use(prepared);
    graph.budget.limit = this.after.service.intake.max_bytes;
    this.used = parts;
    for (const [id, { exporter, former }] of this.senders)
      void parts.exporters
        .get(id)!
        .use(exporter)
        .then(() => this.agent.runner.stopAll([former]));
    const removed = this.steps("receiver", "remove").map(({ id }) => id);
    for (const id of removed) this.retireStarted(running.receivers, id);
    for (const { id } of this.steps("extension", "remove")) {
      const extension = running.extensions.get(id);
      running.extensions.delete(id);
      if (extension !== undefined) this.retiredExtensions.push(extension);
    }
  }

  /** Step 4. */
  private async retire(timeoutMs: number): Promise<void> {
    const { runner, running } = this.agent;
    await runner.waitFor(runner.stopAll(this.retired), timeoutMs);
    for (const entry of this.replaced.entries) entry.close();
    const all = this.steps("exporter", "remove").map(({ id }) => this.old.exporters.get(id)!);
    const emptied = new Map(all.map((exporter) => [exporter, exporter.outlet.empty?.()]));
    const removed = all.filter((exporter) => emptied.get(exporter) === undefined);
    const leaving = all.filter((exporter) => emptied.get(exporter) !== undefined);
    const ends = removed.map(({ id }) => this.endOf(id));
    for (const end of ends) end.close();
    const ending = [...this.replaced.formers, ...ends];
    await runner.waitFor(whenEnded(ending), timeoutMs, () => {
      for (const each of ending) each.abort();
    });
    for (const { id } of removed) {
      await runner.waitFor(runner.stopAll(taken(running.outlets, id)), STOP_GRACE_MS);
      await runner.waitFor(runner.stopAll(taken(running.exporters, id)), STOP_GRACE_MS);
    }
    const kept =
      leaving.length === 0 ? [] : this.retiredExtensions.filter(({ extension }) => extension.clientAuthenticator);
    for (const exporter of leaving) {
      const { id } = exporter;
      const own = [...taken(running.outlets, id), ...taken(running.exporters, id)];
      const components = exporter === leaving.at(-1) ? [...own, ...kept.toReversed()] : own;
      this.agent.leaving.add({ id, end: this.endOf(id), emptied: emptied.get(exporter)!, components });
    }
    for (const { name } of this.old.journals)
      if (!this.used!.journals.some((journal) => journal.name === name)) running.journals.delete(name);
    await runner.waitFor(runner.stopAll(this.retiredExporters), STOP_GRACE_MS);
    for (const extension of this.retiredExtensions.filter((each) => !kept.includes(each)).toReversed())
      await runner.waitFor(runner.stopAll([extension]), STOP_GRACE_MS);
  }

  /** An error made during the swap keeps the swap in memory, and must not keep all of its parts. */
  private forget(): void {
    this.old = this.agent.graph.parts;
    this.used = undefined;
    this.replaced = { formers: [], entries: [] };
    this.undo.length = 0;
    this.retired.length = 0;
    this.retiredExporters.length = 0;
    this.retiredExtensions.length = 0;
    this.senders.clear();
  }

  /** Stops what was started, and makes and starts again what was stopped. A part that fails does not keep others from it. */
  private async rollBack(): Promise<void> {
    const { sockets, graph, running } = this.agent;
    await sockets.giveBack();
    for (const step of this.undo.toReversed()) await step();
    graph.discard();
    if (this.torn.size === 0) return;
    const services = this.agent.services(this.before);
    const restored = graph.prepare(this.before, services, { parts: this.old, keeps: (unit) => !this.torn.has(unit) });
    const isNew = (unit: string) => this.torn.has(unit);
    const again = (start: () => Promise<unknown>) => start().catch((error: unknown) => this.lost.push(error));
    for (const end of restored.parts.exporters.values())
      if (isNew(nodeId("exporter", end.id))) await again(() => this.restart(end));
    for (const journal of restored.parts.journals)
      if (isNew(journalUnit(journal.name))) await again(() => running.startJournal(journal, this.before));
    graph.use(restored);
    for (const [id, receiver] of restored.parts.receivers)
      if (isNew(nodeId("receiver", id))) await again(() => running.startReceiver(receiver));
  }

  private async restart(exporter: RunningExporter): Promise<void> {
    const { running } = this.agent;
    await this.stopSoon(taken(running.exporters, exporter.id));
    await running.startExporter(exporter.spec, exporter.exporter);
    await running.startOutlet(exporter);
  }

  /** Does not wait for a component that hangs while it stops. */
  private async stopSoon(components: readonly StartedComponent[]): Promise<void> {
    await this.agent.runner.waitFor(this.agent.runner.stopAll(components), MAX_HELD_MS);
  }

  /** Starts a component in the place of another one, which is stopped later. */
  private async startReplacing(
    all: Map<string, StartedComponent>,
    id: string,
    start: () => Promise<StartedComponent>,
  ): Promise<void> {
    const former = all.get(id);
    const started = await start();
    this.undo.push(async () => {
      if (former === undefined) all.delete(id);
      else all.set(id, former);
      await this.stopSoon([started]);
    });
  }

  private async startReceiver(parts: GraphParts, id: string): Promise<void> {
    const { running } = this.agent;
    const former = running.receivers.get(id);
    await this.startReplacing(running.receivers, id, () => running.startReceiver(parts.receivers.get(id)!));
    if (former !== undefined && !this.torn.has(nodeId("receiver", id))) this.retired.push(former);
  }

  private retireStarted(all: Map<string, StartedComponent>, id: string): void {
    const component = all.get(id);
    all.delete(id);
    if (component !== undefined && !this.torn.has(nodeId("receiver", id))) this.retired.push(component);
  }

  private endOf(exporter: string) {
    return this.old.wiring.end(nodeId("exporter", exporter));
  }

  private isReopened(id: string): boolean {
    return this.plan.steps.some((step) => step.kind === "exporter" && step.id === id && step.reopensQueue === true);
  }

  /** Added receivers start in step 1: nothing of theirs runs yet. */
  private handsOver({ id, action }: ReloadStep): boolean {
    if (action === "add") return this.after.receivers.get(id)!.factory.handsOver !== undefined;
    const specs = [this.before.receivers.get(id)!, ...(action === "remove" ? [] : [this.after.receivers.get(id)!])];
    return specs.every(({ factory, config }) => factory.handsOver?.(config) === true) && !movesWithinPort(specs);
  }

  private receivers(isWanted: (step: ReloadStep) => boolean): string[] {
    return this.steps("receiver", "add", "replace", "remove")
      .filter(isWanted)
      .map(({ id }) => id);
  }

  private steps(kind: ReloadStep["kind"], ...actions: readonly ReloadStep["action"][]): ReloadStep[] {
    return this.plan.steps.filter((step) => step.kind === kind && actions.includes(step.action));
  }
}

/** Whether a receiver gets another address that only one of the two can listen at, such as all hosts with the same port. */
function movesWithinPort([before, after]: readonly ResolvedReceiver[]): boolean {
  const addressesOf = ({ factory, config }: ResolvedReceiver) => factory.listensAt?.(config) ?? [];
  if (before === undefined || after === undefined) return false;
  return addressesOf(before).some((old) =>
    addressesOf(after).some((one) => overlap(old, one) && formatAddress(old.address) !== formatAddress(one.address)),
  );
}

/**
 * The places among these that only the journal with this name feeds. Those of a pipeline are in the order of its
 * processors, and some may be in front of the journal. Names: see `connectorJournalName`.
 */
function placesBehind(name: string, keys: readonly string[]): string[] {
  if (name.startsWith("connector/"))
    return keys.filter((key) => key.startsWith(`connector:${name.slice("connector/".length)} `));
  const at = keys.indexOf(journalUnit(name));
  return keys.filter((key, i) => i > at && key.startsWith(`processor:${name}:`));
}

function taken(all: Map<string, StartedComponent>, id: string): StartedComponent[] {
  const found = all.get(id);
  all.delete(id);
  return found === undefined ? [] : [found];
}
