import { useEffect, useRef, useState } from "preact/hooks";
import { query, segment } from "../../api/client.js";
import type { GraphNode, History, Sample } from "../../api/shapes.js";
import { useLoad } from "../../api/use-load.js";
import { Badge, Load, StateBadge } from "../../parts/bits.js";
import { bytesText, countOf, countText, durationText, rateText } from "../../parts/format.js";
import { Needs } from "../../parts/needs.js";
import { ScrollText } from "../../parts/scroll-text.js";
import { Sparkline } from "../../parts/sparkline.js";
import { Text } from "../../parts/text.js";
import { linkTo } from "../../route.js";
import { Tap } from "../tail/tap.js";

const EVERY_MS = 5_000;

/** One node: its last 15 minutes, its effective config, and its traffic. */
export function NodePanel({ node, sample }: { node: GraphNode; sample: Sample | undefined }) {
  const element = useRef<HTMLElement>(null);
  const [isTapping, setTapping] = useState(false);
  useEffect(() => element.current?.scrollIntoView({ block: "nearest" }), []);
  const reading = node.kind === "exporter" ? sample?.exporters[node.name] : undefined;
  return (
    <section class="card node-panel" ref={element} aria-label={`${node.kind} ${node.name}`}>
      <header>
        <h2>
          <Text value={node.name} inline />
        </h2>
        <Badge tone="off">{node.kind}</Badge>
        {reading !== undefined && reading.state !== "UP" && <StateBadge state={reading.state} />}
        <span class="spacer" />
        {node.kind === "exporter" && (
          <a class="button" href={linkTo("failures", [], { exporter: node.name })}>
            Failures
          </a>
        )}
        <Needs right="reveal">
          <button type="button" onClick={() => setTapping(!isTapping)}>
            {isTapping ? "Close tap" : "Live tap"}
          </button>
        </Needs>
        <a class="button" href={linkTo("pipelines")} aria-label="Close">
          ×
        </a>
      </header>
      {isTapping && <Tap at={node.id} />}
      <div class="columns">
        <div>
          <h3>Last 15 minutes</h3>
          <Metrics node={node} />
        </div>
        <div>
          <h3>Effective config</h3>
          <NodeConfig node={node} />
        </div>
      </div>
    </section>
  );
}

function NodeConfig({ node }: { node: GraphNode }) {
  const config = useLoad<{ yaml: string }>(`/graph/nodes/${segment(node.id)}/config`);
  return (
    <Load of={config} part="Config">
      {({ yaml }) => (
        <ScrollText name="config">
          <Text value={yaml} max={20_000} />
        </ScrollText>
      )}
    </Load>
  );
}

interface Metric {
  readonly name: string;
  readonly label: string;
  show(value: number): string;
}

const perSecond = (value: number) => `${rateText(value)}/s`;
const METRICS: readonly Metric[] = [
  { name: "in", label: "In", show: perSecond },
  { name: "out", label: "Out", show: perSecond },
  { name: "dropped", label: "Dropped", show: perSecond },
  { name: "refused", label: "Refused", show: perSecond },
  { name: "failed", label: "Failed", show: perSecond },
  { name: "queueEntries", label: "Queue", show: (value) => countOf(value, "entry", "entries") },
  { name: "queueBytes", label: "Queue size", show: bytesText },
  { name: "queueAge", label: "Queue age", show: (value) => durationText(value * 1000) },
  { name: "deadLetters", label: "Dead letters", show: countText },
];

function Metrics({ node }: { node: GraphNode }) {
  const history = useLoad<History>(`/history${query({ node: node.id })}`, EVERY_MS);
  return (
    <Load of={history} part="Metrics">
      {({ series }) => (
        <table class="metrics">
          <tbody>
            {METRICS.map(({ name, label, show }) => {
              const values = series[name];
              if (values === undefined || values.length === 0) return null;
              const max = Math.max(...values.map((value) => value ?? 0));
              return (
                <tr key={name}>
                  <th scope="row">{label}</th>
                  <td>
                    <Sparkline values={values} label={`${label}, at most ${show(max)}`} />
                  </td>
                  <td class="number">{show(values.at(-1) ?? 0)}</td>
                  <td class="dim number">max {show(max)}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      )}
    </Load>
  );
}
