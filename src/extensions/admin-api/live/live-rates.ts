import type { ExporterReading, NodeRates, RateName, Sample } from "#contract/api";
import type { Admin, AgentInspection, ExporterStatus, Traffic } from "#contract/operations";
import type { Clock } from "../../../plugin.js";

export const RATE_NAMES: readonly RateName[] = ["in", "out", "dropped", "refused", "failed"];

/**
 * The agent to sample. `inspection` exists once the components are made, `admin` if there are queues, `refresh` if there
 * are several workers.
 */
export interface Sampled {
  readonly refresh?: (() => Promise<void>) | undefined;
  readonly inspection?: AgentInspection | undefined;
  readonly admin?: Admin | undefined;
}

/** Turns the counts of an agent into rates. Each call of `next` covers the time since the previous one. */
export class RateMeter {
  private readonly host: Sampled;
  private readonly clock: Clock;
  private before: { readonly at: number; readonly traffic: Traffic } | undefined;

  constructor(host: Sampled, clock: Clock) {
    this.host = host;
    this.clock = clock;
    this.before = this.read();
  }

  /** Returns undefined as long as there is nothing to compare with. */
  next(): Sample | undefined {
    const { before } = this;
    const now = this.read();
    this.before = now;
    if (before === undefined || now === undefined || now.at <= before.at) return undefined;
    const seconds = (now.at - before.at) / 1000;
    const rate = (count: number, earlier = 0) => Math.round((Math.max(0, count - earlier) / seconds) * 10) / 10;
    const edges = [...now.traffic.edges].map(([id, count]) => {
      return [id, { perSecond: rate(count, before.traffic.edges.get(id)) }] as const;
    });
    const nodes = [...now.traffic.nodes].map(([id, counts]) => {
      const earlier = before.traffic.nodes.get(id);
      return [id, Object.fromEntries(RATE_NAMES.map((name) => [name, rate(counts[name], earlier?.[name])]))] as const;
    });
    return {
      at: new Date(this.clock.now()).toISOString(),
      edges: Object.fromEntries(edges),
      nodes: Object.fromEntries(nodes) as Record<string, NodeRates>,
      exporters: readExporters(this.host.admin, this.clock.now()),
    };
  }

  private read() {
    const traffic = this.host.inspection?.traffic();
    return traffic && { at: this.clock.monotonic(), traffic };
  }
}

function readExporters(admin: Admin | undefined, now: number): Record<string, ExporterReading> {
  return Object.fromEntries((admin?.exporters() ?? []).map((status) => [status.id, readExporter(status, now)]));
}

function readExporter({ state, breaker, paused, queue, deadLetters }: ExporterStatus, now: number): ExporterReading {
  return {
    state,
    breaker: breaker.state,
    paused,
    queueEntries: queue.entries,
    queueBytes: queue.bytes,
    queueAge: queue.oldestAt === undefined ? 0 : Math.max(0, now - queue.oldestAt) / 1000,
    deadLetters: deadLetters.entries,
  };
}
