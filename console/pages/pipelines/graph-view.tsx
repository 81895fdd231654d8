import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Graph, GraphEdge, GraphNode, Sample } from "../../api/shapes.js";
import { bytesText, countOf, rateText } from "../../parts/format.js";
import { linkTo } from "../../route.js";
import { type Layout, layOutToFit, NODE_HEIGHT, type Point } from "./layout.js";

const NARROW = 720;
/** Left free around the picture: for the outlines of chosen nodes, and for a scroll bar. */
const MARGIN = 2;
const PADDING = 4;
const ZOOM_STEP = 1.25;
const MIN_ZOOM = 0.5;
const MAX_ZOOM = 4;
/** Widths of characters: of names, which are bold, and of the lines below them. Wide letters take more. */
const NAME_CHARACTER = 8.1;
const LINE_CHARACTER = 6.5;

/** The running graph with its connections and current traffic. Each node links to its details. */
export function GraphView({
  graph,
  sample,
  chosen,
}: {
  graph: Graph;
  sample: Sample | undefined;
  chosen: string | undefined;
}) {
  const element = useRef<HTMLDivElement>(null);
  const [available, setAvailable] = useState(0);
  useEffect(() => {
    const observer = new ResizeObserver(() => setAvailable(element.current?.clientWidth ?? 0));
    observer.observe(element.current!);
    return () => observer.disconnect();
  }, []);
  const room = available - PADDING;
  const layout = useMemo(
    () => (available === 0 ? undefined : layOutToFit(graph, room, available < NARROW)),
    [graph, available],
  );
  const [zoom, setZoom] = useState(1);
  const fitting = layout === undefined ? 1 : Math.min(1, room / (layout.width + MARGIN * 2));
  return (
    <div class="graph card">
      <fieldset class="zoom" aria-label="Zoom">
        <button
          type="button"
          aria-label="Zoom out"
          disabled={zoom <= MIN_ZOOM}
          onClick={() => setZoom(zoom / ZOOM_STEP)}
        >
          −
        </button>
        <button type="button" disabled={zoom === 1} onClick={() => setZoom(1)}>
          Fit
        </button>
        <button
          type="button"
          aria-label="Zoom in"
          disabled={zoom >= MAX_ZOOM}
          onClick={() => setZoom(zoom * ZOOM_STEP)}
        >
          +
        </button>
      </fieldset>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what is zoomed in must be scrolled by the keyboard too */}
      <section class={`canvas ${zoom > 1 ? "zoomed" : ""}`} ref={element} aria-label="The running graph" tabIndex={0}>
        {layout && <Picture graph={graph} layout={layout} sample={sample} chosen={chosen} scale={fitting * zoom} />}
      </section>
    </div>
  );
}

interface PictureProps {
  readonly graph: Graph;
  readonly layout: Layout;
  readonly sample: Sample | undefined;
  readonly chosen: string | undefined;
  /** 1 is the size at which text is best read. */
  readonly scale: number;
}

function Picture({ graph, layout, sample, chosen, scale }: PictureProps) {
  const [width, height] = [layout.width + MARGIN * 2, layout.height + MARGIN * 2];
  return (
    <svg width={width * scale} height={height * scale} viewBox={`${-MARGIN} ${-MARGIN} ${width} ${height}`}>
      <title>The running graph</title>
      {graph.edges.map((edge) => (
        <path
          key={edge.id}
          class={`edge ${edge.signal} ${isFlowing(edge, sample) ? "" : "still"}`}
          d={layout.edges.get(edge.id)?.path ?? ""}
        />
      ))}
      {graph.nodes.map((node) => (
        <NodeBox
          key={node.id}
          node={node}
          at={layout.nodes.get(node.id)!}
          width={layout.nodeWidth}
          sample={sample}
          isChosen={node.id === chosen}
        />
      ))}
      {graph.edges.map((edge) => (
        <EdgeRate key={edge.id} edge={edge} at={layout.edges.get(edge.id)?.label} sample={sample} />
      ))}
    </svg>
  );
}

function isFlowing({ id }: GraphEdge, sample: Sample | undefined): boolean {
  return sample === undefined || (sample.edges[id]?.perSecond ?? 0) > 0;
}

function EdgeRate({ edge, at, sample }: { edge: GraphEdge; at: Point | undefined; sample: Sample | undefined }) {
  const rate = sample?.edges[edge.id]?.perSecond;
  if (at === undefined || rate === undefined) return null;
  return (
    <text class={`rate ${rate === 0 ? "still" : ""}`} x={at.x} y={at.y} dy="0.35em">
      <title>{`${edge.pipeline}: ${rate} records per second`}</title>
      {rateText(rate)}/s
    </text>
  );
}

interface NodeBoxProps {
  readonly node: GraphNode;
  readonly at: Point;
  readonly width: number;
  readonly sample: Sample | undefined;
  readonly isChosen: boolean;
}

function NodeBox({ node, at, width, sample, isChosen }: NodeBoxProps) {
  const [x, y] = [at.x - width / 2, at.y - NODE_HEIGHT / 2];
  const reading = node.kind === "exporter" ? sample?.exporters[node.name] : undefined;
  const health = reading === undefined ? "" : reading.state.toLowerCase();
  const room = width - 20;
  return (
    <a
      href={linkTo("pipelines", [], { node: node.id })}
      class={`node ${node.kind} ${health} ${isChosen ? "chosen" : ""}`}
    >
      <title>{`${node.kind} ${node.name}`}</title>
      <rect x={x} y={y} width={width} height={NODE_HEIGHT} rx={6} />
      <rect class="stripe" x={x} y={y} width={4} height={NODE_HEIGHT} rx={2} />
      <text class="name" x={x + 13} y={y + 20}>
        {shortName(node.name, Math.floor(room / NAME_CHARACTER))}
      </text>
      <NodeLine node={node} x={x + 13} y={y + 39} fits={Math.floor(room / LINE_CHARACTER)} sample={sample} />
    </a>
  );
}

/** Shortens `otlp_http/backend` to the part that distinguishes it, if the whole name does not fit. */
function shortName(name: string, fits: number): string {
  if (name.length <= fits) return name;
  const own = name.includes("/") ? `…/${name.slice(name.indexOf("/") + 1)}` : name;
  return own.length <= fits ? own : `${own.slice(0, fits - 1)}…`;
}

interface LineProps extends Point {
  readonly node: GraphNode;
  readonly fits: number;
  readonly sample: Sample | undefined;
}

/** The most important fact about a node, in one line. */
function NodeLine({ node, x, y, fits, sample }: LineProps) {
  const { text, isBad } = lineOf(node, sample);
  return (
    <text class={`line ${isBad ? "bad" : ""}`} x={x} y={y}>
      {text.length <= fits ? text : `${text.slice(0, fits - 1)}…`}
    </text>
  );
}

function lineOf({ id, kind, name }: GraphNode, sample: Sample | undefined): { text: string; isBad: boolean } {
  const reading = sample?.exporters[name];
  if (kind === "exporter" && reading !== undefined) {
    if (reading.breaker !== "closed") return { text: `breaker ${reading.breaker.replace("_", " ")}`, isBad: true };
    if (reading.paused) return { text: "paused", isBad: true };
    if (reading.deadLetters > 0) return { text: countOf(reading.deadLetters, "dead letter"), isBad: true };
    return {
      text: reading.queueEntries === 0 ? "queue empty" : `queue ${bytesText(reading.queueBytes)}`,
      isBad: false,
    };
  }
  const { refused = 0, dropped = 0, failed = 0 } = sample?.nodes[id] ?? {};
  if (refused > 0) return { text: `refused ${rateText(refused)}/s`, isBad: true };
  if (failed > 0) return { text: `failed ${rateText(failed)}/s`, isBad: true };
  if (dropped > 0) return { text: `dropped ${rateText(dropped)}/s`, isBad: false };
  return { text: kind, isBad: false };
}
