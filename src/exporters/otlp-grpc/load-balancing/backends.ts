import type { Exporter, ExporterContext } from "../../../plugin.js";
import { Backend, type BackendMetrics } from "./backend.js";
import { HashRing, type RingLayout } from "./hash-ring.js";

/** The ring at one moment, and its endpoints by number. */
export interface Placement {
  readonly ring: HashRing;
  readonly backends: readonly Backend[];
}

const LATENCY_MS = [5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000];

/**
 * The present endpoints. A new endpoint is started before the ring names it; a removed one is stopped once nothing is
 * being sent to it. Changes happen one after the other.
 */
export class Backends {
  private readonly context: ExporterContext;
  private readonly layout: RingLayout;
  private readonly create: (endpoint: string) => Exporter;
  private readonly removeGauge: () => void;
  private readonly countUpdate: () => void;
  private readonly known = new Map<string, Backend>();
  private placement: Placement = { ring: new HashRing([]), backends: [] };
  private changing: Promise<void> = Promise.resolve();
  private isStopped = false;

  constructor(context: ExporterContext, layout: RingLayout, create: (endpoint: string) => Exporter) {
    this.context = context;
    this.layout = layout;
    this.create = create;
    const { metrics, id: exporter } = context;
    this.removeGauge = metrics.gauge(
      "otelcol_loadbalancer_num_backends",
      { description: "Endpoints that data is sent to." },
      () => this.placement.backends.length,
      { exporter },
    );
    const updates = metrics.counter(
      "otelcol_loadbalancer_num_backend_updates",
      { description: "Times that the endpoints changed." },
      { exporter },
    );
    this.countUpdate = () => updates.add(1);
  }

  /** The placement for a batch that is sent now. */
  get current(): Placement {
    return this.placement;
  }

  /** Replaces the endpoints. Rejects if one of them cannot be started; that one is left out. */
  update(endpoints: readonly string[]): Promise<void> {
    const change = this.changing.then(() => this.change(endpoints));
    this.changing = change.catch(() => {});
    return change;
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    this.removeGauge();
    await this.changing;
    await Promise.all([...this.known.values()].map((backend) => backend.stop()));
  }

  private async change(endpoints: readonly string[]): Promise<void> {
    if (this.isStopped) return;
    const wanted = new HashRing(endpoints, this.layout);
    const { ring } = this.placement;
    if (wanted.endpoints.join() === ring.endpoints.join()) return;
    const failures: unknown[] = [];
    for (const endpoint of wanted.endpoints) {
      if (this.known.has(endpoint)) continue;
      await this.add(endpoint).catch((error: unknown) => failures.push(error));
    }
    const started = wanted.endpoints.filter((endpoint) => this.known.has(endpoint));
    const next = failures.length === 0 ? wanted : new HashRing(started, this.layout);
    this.placement = { ring: next, backends: next.endpoints.map((endpoint) => this.known.get(endpoint)!) };
    this.removeOthers(new Set(next.endpoints));
    this.countUpdate();
    const before = ring.endpoints.length;
    this.context.logger.info({ before, endpoints: next.endpoints }, "the endpoints that data is sent to have changed");
    if (failures.length > 0) throw failures[0];
  }

  private async add(endpoint: string): Promise<void> {
    const exporter = this.create(endpoint);
    await exporter.start?.();
    this.known.set(endpoint, new Backend(endpoint, exporter, this.context, this.backendMetrics(endpoint)));
  }

  private removeOthers(wanted: ReadonlySet<string>): void {
    for (const [endpoint, backend] of this.known) {
      if (wanted.has(endpoint)) continue;
      this.known.delete(endpoint);
      backend.retire();
    }
  }

  private backendMetrics(endpoint: string): BackendMetrics {
    const { metrics, id: exporter } = this.context;
    const outcome = { description: "Requests to an endpoint, by success or failure." };
    const counter = (success: string) =>
      metrics.counter("otelcol_loadbalancer_backend_outcome", outcome, { exporter, endpoint, success });
    const [succeeded, failed] = [counter("true"), counter("false")];
    const latency = metrics.histogram(
      "otelcol_loadbalancer_backend_latency",
      { description: "How long requests to an endpoint took.", unit: "ms", boundaries: LATENCY_MS },
      { exporter, endpoint },
    );
    return { succeeded: () => succeeded.add(1), failed: () => failed.add(1), latency: (ms) => latency.record(ms) };
  }
}
