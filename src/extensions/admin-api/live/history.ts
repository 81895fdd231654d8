import type { ExporterReading, NodeHistory, RateName, Sample } from "#contract/api";
import type { GraphNode } from "#contract/operations";
import type { Clock } from "../../../plugin.js";
import { RATE_NAMES, RateMeter, type Sampled } from "./live-rates.js";

const HISTORY_STEP_MS = 5000;
/** Fifteen minutes of steps. */
const MAX_STEPS = 180;

const GAUGE_NAMES = ["queueEntries", "queueBytes", "queueAge", "deadLetters"] as const;

/** The name of the whole agent, in place of the id of a node. */
const WHOLE_AGENT = "agent";

/** The last fifteen minutes of every node, in memory: about ten kilobytes for each. Nothing survives a restart. */
export class History {
  private readonly host: Sampled;
  private readonly clock: Clock;
  private readonly onStep: () => void;
  private readonly meter: RateMeter;
  private readonly series = new Map<string, Map<string, Ring>>();
  private cancel = () => {};
  private lastAt = 0;

  /** `onStep` is called before each step, when the host has been refreshed. */
  constructor(host: Sampled, clock: Clock, onStep: () => void = () => {}) {
    this.host = host;
    this.clock = clock;
    this.onStep = onStep;
    this.meter = new RateMeter(host, clock);
  }

  start(): void {
    this.cancel = this.clock.after(HISTORY_STEP_MS, async () => {
      this.start();
      if (this.host.refresh !== undefined) await this.host.refresh();
      this.onStep();
      this.step();
    });
  }

  stop(): void {
    this.cancel();
  }

  /** Returns undefined if there is no such node. Journals are listed with the exporters but are no nodes. */
  of(node: string): NodeHistory | undefined {
    const isNode = node === WHOLE_AGENT || this.host.inspection?.graph.nodes.some(({ id }) => id === node);
    if (!isNode && !this.host.admin?.exporters().some(({ id }) => exporterNode(id) === node)) return undefined;
    const own = [...(this.series.get(node) ?? [])].map(([name, ring]) => [name, ring.values()] as const);
    const steps = own[0]?.[1].length ?? 0;
    const from = new Date((steps === 0 ? this.clock.now() : this.lastAt) - steps * HISTORY_STEP_MS).toISOString();
    return { stepMs: HISTORY_STEP_MS, from, series: Object.fromEntries(own) };
  }

  private step(): void {
    const sample = this.meter.next();
    if (sample === undefined) return;
    this.lastAt = this.clock.now();
    const { exporters } = sample;
    const nodes = this.host.inspection?.graph.nodes ?? [];
    for (const { id, kind, name } of nodes) {
      const rates = sample.nodes[id];
      for (const rate of RATE_NAMES) this.push(id, rate, rates?.[rate] ?? 0);
      if (kind === "exporter") this.pushGauges(id, exporters[name]);
    }
    const drawn = new Set(nodes.map(({ id }) => id));
    const others = Object.keys(exporters).filter((name) => !drawn.has(exporterNode(name)));
    for (const name of others) this.pushGauges(exporterNode(name), exporters[name]);
    this.pushTotals(sample, nodes);
  }

  /** The rates of data that the agent receives and sends, and the data that waits. Processors and connectors only pass it on. */
  private pushTotals({ nodes: rates, exporters }: Sample, nodes: readonly GraphNode[]): void {
    const sum = (kinds: readonly string[], rate: RateName) =>
      nodes.reduce((all, { id, kind }) => all + (kinds.includes(kind) ? (rates[id]?.[rate] ?? 0) : 0), 0);
    this.push(WHOLE_AGENT, "in", sum(["receiver"], "in"));
    this.push(WHOLE_AGENT, "out", sum(["exporter"], "out"));
    this.push(WHOLE_AGENT, "dropped", sum(["processor"], "dropped"));
    this.push(WHOLE_AGENT, "refused", sum(["receiver"], "refused"));
    this.push(WHOLE_AGENT, "failed", sum(["exporter"], "failed"));
    const readings = Object.values(exporters);
    for (const gauge of ["queueEntries", "queueBytes", "deadLetters"] as const)
      this.push(
        WHOLE_AGENT,
        gauge,
        readings.reduce((all, reading) => all + reading[gauge], 0),
      );
    this.push(WHOLE_AGENT, "queueAge", Math.max(0, ...readings.map(({ queueAge }) => queueAge)));
  }

  private pushGauges(id: string, reading: ExporterReading | undefined): void {
    for (const gauge of GAUGE_NAMES) this.push(id, gauge, reading?.[gauge] ?? 0);
  }

  private push(id: string, name: string, value: number): void {
    const own = this.series.get(id) ?? new Map<string, Ring>();
    this.series.set(id, own);
    const ring = own.get(name) ?? new Ring();
    own.set(name, ring);
    ring.push(value);
  }
}

/** The id of an exporter in the graph. */
function exporterNode(exporter: string): string {
  return `exporter:${exporter}`;
}

class Ring {
  private readonly slots = new Float64Array(MAX_STEPS);
  private count = 0;

  push(value: number): void {
    this.slots[this.count++ % MAX_STEPS] = value;
  }

  /** The oldest first. */
  values(): number[] {
    const { slots, count } = this;
    const size = Math.min(count, MAX_STEPS);
    return Array.from({ length: size }, (_, i) => slots[(count - size + i) % MAX_STEPS]!);
  }
}
