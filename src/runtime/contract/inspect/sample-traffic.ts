import type { Batch } from "#otlp";
import type { GraphEdge } from "./graph.js";
import type { AgentInspection } from "./inspection.js";

/** Which batches a sample consists of. */
interface TrafficSampleSettings {
  /** The share of batches to take, from 0 (none) to 1 (all). */
  readonly share: number;
  /** The receivers whose batches are sampled; all of them by default. */
  readonly receivers?: ReadonlySet<string> | undefined;
  readonly random?: (() => number) | undefined;
}

/** Called with a batch as its receiver has handed it in. It must be fast, because the pipelines wait for it. */
type SampleListener = (batch: Batch, receiver: string) => void;

/**
 * Calls the listener with a share of the batches that receivers hand in, each once, however many pipelines read it. A
 * trace whose spans come in several batches may be sampled in part. Costs nothing until it is called, or after the
 * returned function is called.
 */
export function sampleTraffic(
  inspection: AgentInspection,
  { share, receivers, random = Math.random }: TrafficSampleSettings,
  listener: SampleListener,
): () => void {
  const names = new Map(inspection.graph.nodes.map(({ id, name }) => [id, name]));
  const edges = firstEdges(inspection).filter(({ from }) => receivers?.has(names.get(from)!) ?? true);
  return inspection.watch(edges, (batch, { from }) => {
    if (share >= 1 || random() < share) listener(batch, names.get(from)!);
  });
}

/** One edge for each receiver and signal. The pipelines behind the other edges get the same batches. */
function firstEdges({ graph }: AgentInspection): readonly GraphEdge[] {
  const receivers = new Set(graph.nodes.filter(({ kind }) => kind === "receiver").map(({ id }) => id));
  const found = new Map<string, GraphEdge>();
  for (const edge of graph.edges) {
    const key = `${edge.from} ${edge.signal}`;
    if (receivers.has(edge.from) && !found.has(key)) found.set(key, edge);
  }
  return [...found.values()];
}
