import type { ResolvedConfig } from "#config/resolve";
import type { Clock } from "#contract";
import { waitAtMost } from "#contract/time";
import {
  type Former,
  type Graph,
  type GraphParts,
  type GraphServices,
  journalUnit,
  nodeId,
  type RunningExporter,
  type RunningJournal,
  whenEnded,
} from "#pipeline";
import { type ComponentRunner, MAX_HELD_MS } from "../component-runner.js";
import { type RunningParts, taken } from "../running-parts.js";

/** The agent, as its parts are stopped and made anew. */
export interface StoppingAgent {
  readonly graph: Graph;
  readonly running: RunningParts;
  readonly runner: ComponentRunner;
  readonly clock: Clock;
  /** With the extensions that run now. */
  services(config: ResolvedConfig): GraphServices;
}

/**
 * Parts that cannot run beside their successors, so a reload stops them first. Deliveries for them wait meanwhile. If the
 * reload fails, they are made anew and started again.
 */
export class StoppedParts {
  private readonly agent: StoppingAgent;
  private readonly units = new Set<string>();
  /** Why parts could not be started again. */
  readonly lost: unknown[] = [];

  constructor(agent: StoppingAgent) {
    this.agent = agent;
  }

  has(unit: string): boolean {
    return this.units.has(unit);
  }

  stopReceiver(id: string): Promise<void> {
    const { runner, running } = this.agent;
    this.units.add(nodeId("receiver", id));
    return runner.stopInTime(taken(running.receivers, id), MAX_HELD_MS);
  }

  async stopOutlet(id: string): Promise<void> {
    const { runner, running } = this.agent;
    const former = this.hold(nodeId("exporter", id));
    await runner.waitFor(whenEnded([former]), MAX_HELD_MS, () => former.abort());
    await runner.stopInTime(taken(running.outlets, id));
  }

  /**
   * Stops a journal with the places behind it that hold deliveries and change. Entries that are not settled in time stay
   * in the store, and its successor hands them on again.
   */
  async stopJournal({ name, journal }: RunningJournal, next: GraphParts): Promise<void> {
    const { graph, running, runner, clock } = this.agent;
    const unit = journalUnit(name);
    if (!graph.parts.wiring.hasPlace(unit) || !running.journals.has(name)) return;
    const left = [unit, ...placesBehind(name, next.wiring.changes)];
    const formers: Former[] = [];
    const endInOrder = async () => {
      for (let key = left.shift(); key !== undefined; key = left.shift()) {
        formers.push(this.hold(key));
        await whenEnded(formers.slice(-1));
      }
      await journal.whenSettled?.();
    };
    await waitAtMost(MAX_HELD_MS, endInOrder(), clock);
    for (const key of left.splice(0)) formers.push(this.hold(key));
    for (const former of formers) former.abort();
    await runner.stopAll(taken(running.journals, name));
  }

  /** Makes what was stopped anew, and starts it. A part that fails does not keep others from it. */
  async startAgain(config: ResolvedConfig): Promise<void> {
    if (this.units.size === 0) return;
    const { graph, running } = this.agent;
    const keeps = (unit: string) => !this.units.has(unit);
    const restored = graph.prepare(config, this.agent.services(config), { parts: graph.parts, keeps });
    const { exporters, journals, receivers } = restored;
    for (const exporter of exporters.values())
      await this.again(nodeId("exporter", exporter.id), () => this.restart(exporter));
    for (const journal of journals)
      await this.again(journalUnit(journal.name), () => running.startJournal(journal, config));
    graph.use(restored);
    for (const [id, receiver] of receivers)
      await this.again(nodeId("receiver", id), () => running.startReceiver(receiver));
  }

  private async again(unit: string, start: () => Promise<unknown>): Promise<void> {
    if (this.has(unit)) await start().catch((error: unknown) => this.lost.push(error));
  }

  private async restart(exporter: RunningExporter): Promise<void> {
    const { runner, running } = this.agent;
    await runner.stopInTime(taken(running.exporters, exporter.id), MAX_HELD_MS);
    await running.startExporter(exporter.spec, exporter.exporter);
    await running.startOutlet(exporter);
  }

  /** Holds what comes to a place whose component ends now. After a failure the component is made anew. */
  private hold(key: string): Former {
    for (const unit of [key, key.split(" ", 1)[0]!]) this.units.add(unit);
    return this.agent.graph.parts.wiring.hold(key);
  }
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
