import type { GraphDescription, GraphEdge, GraphNode } from "#contract/operations";
import { placeId } from "./place-traffic.js";

/** A place that is read: one edge stands for all that leave the same node in the same pipeline. */
export interface WatchedPlace {
  readonly edge: GraphEdge;
  /** The receiver that hands in the data, if it is read there. */
  readonly receiver: string | undefined;
  /** The exporters that get the data from here. */
  readonly exporters: readonly string[];
}

/**
 * The places that these words name: `exporters`, `receivers`, or names of components and pipelines. A name that is not
 * in the graph names nothing, because a reload may bring it.
 */
export function watchedPlaces({ nodes, edges }: GraphDescription, words: readonly string[]): readonly WatchedPlace[] {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const kindOf = (id: string) => byId.get(id)?.kind;
  const found = new Map<string, GraphEdge>();
  for (const word of words)
    for (const edge of edgesOf(word, edges, byId)) {
      if (!found.has(placeId(edge))) found.set(placeId(edge), edge);
    }
  return [...found].map(([id, edge]) => ({
    edge,
    receiver: kindOf(edge.from) === "receiver" ? byId.get(edge.from)!.name : undefined,
    exporters: edges
      .filter((each) => placeId(each) === id && kindOf(each.to) === "exporter")
      .map(({ to }) => byId.get(to)!.name),
  }));
}

function edgesOf(
  word: string,
  edges: readonly GraphEdge[],
  byId: ReadonlyMap<string, GraphNode>,
): readonly GraphEdge[] {
  const isExporter = ({ to }: GraphEdge) => byId.get(to)?.kind === "exporter";
  if (word === "exporters") return edges.filter(isExporter);
  if (word === "receivers") return firstEdges(edges, byId);
  const names = (id: string) => id === word || byId.get(id)?.name === word;
  return edges.filter((edge) =>
    edge.pipeline === word
      ? byId.get(edge.to)?.kind !== "processor"
      : names(isExporter(edge) ? edge.to : edge.from) || names(edge.from),
  );
}

/** One edge for each receiver and signal: other pipelines of the receiver get the same batches. */
function firstEdges(edges: readonly GraphEdge[], byId: ReadonlyMap<string, GraphNode>): readonly GraphEdge[] {
  const found = new Map<string, GraphEdge>();
  for (const edge of edges) {
    const key = `${edge.from} ${edge.signal}`;
    if (byId.get(edge.from)?.kind === "receiver" && !found.has(key)) found.set(key, edge);
  }
  return [...found.values()];
}
