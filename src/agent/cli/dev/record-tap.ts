import { systemClock } from "#contract";
import type { TappedRecord } from "#contract/api";
import { errorMessage } from "#contract/errors";
import { type AgentInspection, type GraphEdge, TapBudget } from "#contract/operations";
import type { Agent } from "#host";
import { isOttlSyntaxError, parseRecordCondition } from "#ottl";
import type { AgentMessage, ShownRecords, TrafficCounts } from "./messages.js";

/** The share of the time that looking at records may take from the pipelines. */
const WORK_SHARE = 0.1;
/**
 * The longest time in which no record is shown because earlier ones took long. The first record may take half a second
 * on a busy machine, and the next one is what a developer waits for.
 */
const MAX_PAUSE_MS = 100;

type EdgesAt = (at: string, inspection: AgentInspection) => readonly GraphEdge[];

/** Sends masked records of the agent as they pass: at a limited rate, and within a budget of time. */
export class RecordTap {
  private readonly send: (message: AgentMessage) => void;
  private readonly budget = new TapBudget(systemClock, WORK_SHARE, MAX_PAUSE_MS);
  private shown: ShownRecords | undefined;
  private inspection: AgentInspection | undefined;
  /** Loaded as a whole: apart from the rest of the admin API it would be one more file at every start of an agent. */
  private taps: typeof import("../../../extensions/admin-api/server.js") | undefined;
  private mask: Awaited<ReturnType<Agent["loadMask"]>> | undefined;
  private end = () => {};
  private missed = 0;

  constructor(send: (message: AgentMessage) => void) {
    this.send = send;
  }

  /** Call this again after a reload, because the graph is another one then. */
  async use(agent: Agent): Promise<void> {
    this.mask = await agent.loadMask();
    this.taps ??= await import("../../../extensions/admin-api/server.js");
    this.inspection = agent.inspection;
    this.restart();
  }

  show(shown: ShownRecords): void {
    this.shown = shown;
    this.restart();
  }

  counts(): TrafficCounts | undefined {
    const { inspection } = this;
    if (inspection === undefined) return undefined;
    const { nodes } = inspection.traffic();
    let [received, exported] = [0, 0];
    const lost: TrafficCounts["lost"][number][] = [];
    for (const { id, kind, name } of inspection.graph.nodes) {
      const counts = nodes.get(id)!;
      if (kind === "receiver") received += counts.in;
      else if (kind === "exporter") exported += counts.in;
      else if (counts.dropped + counts.refused > 0)
        lost.push({ id: name, dropped: counts.dropped, refused: counts.refused });
    }
    return { received, exported, lost };
  }

  private restart(): void {
    this.end();
    this.end = () => {};
    const { inspection, shown, mask, budget, taps } = this;
    if (inspection === undefined || mask === undefined || taps === undefined) return;
    if (shown === undefined || shown.rate === 0) return;
    const edges = this.edges(inspection, shown.at, taps.edgesAt);
    const pipelines = new Map(edges.map(({ id, pipeline }) => [id, pipeline]));
    const condition = shown.where === "" ? undefined : parseRecordCondition(shown.where);
    const where = condition === undefined || isOttlSyntaxError(condition) ? undefined : condition;
    const settings = { edges, where, rate: shown.rate, limit: Number.MAX_SAFE_INTEGER };
    this.end = taps.tapEvents(settings, { inspection, clock: systemClock, budget, mask })({
      send: () => true,
      sendJson: (_, json) => {
        const record = JSON.parse(json) as TappedRecord;
        this.send({ kind: "record", pipeline: pipelines.get(record.edge) ?? "", record });
        return true;
      },
      drop: (count) => {
        this.missed += count;
      },
      reportDropped: () => this.reportMissed(where !== undefined),
      end: () => {},
    });
  }

  /** With a condition it is unknown how many of the missed records match. */
  private reportMissed(hasCondition: boolean): void {
    if (this.missed > 0 && !hasCondition) this.send({ kind: "missed", records: this.missed });
    this.missed = 0;
  }

  private edges(inspection: AgentInspection, at: readonly string[], edgesAt: EdgesAt): readonly GraphEdge[] {
    const { nodes, edges } = inspection.graph;
    const exporters = new Set(nodes.filter(({ kind }) => kind === "exporter").map(({ id }) => id));
    if (at.length === 0) return edges.filter(({ to }) => exporters.has(to));
    return at.flatMap((place) => {
      try {
        return edgesAt(place, inspection);
      } catch (error) {
        this.send({ kind: "notice", text: `--at: ${errorMessage(error)}` });
        return [];
      }
    });
  }
}
