import { useState } from "preact/hooks";
import { useEvents } from "../../api/events.js";
import type { Agent, Graph, Sample } from "../../api/shapes.js";
import { useLoad } from "../../api/use-load.js";
import { Empty, Load } from "../../parts/bits.js";
import { Text } from "../../parts/text.js";
import type { Route } from "../../route.js";
import { GraphView } from "./graph-view.js";
import { NodePanel } from "./node-panel.js";

/** The running graph with its traffic, and the details of the selected node. */
export function PipelinesPage({ route }: { route: Route }) {
  const graph = useLoad<Graph>("/graph");
  const agent = useLoad<Agent>("/agent");
  const [sample, setSample] = useState<Sample>();
  useEvents("/live", ({ name, data }) => {
    if (name === "sample") setSample(data as Sample);
  });
  const chosen = route.query["node"];
  return (
    <>
      <header class="title">
        <h1>Pipelines</h1>
        <span class="spacer" />
        <Legend />
      </header>
      {agent.data?.warnings.map(({ message, place }) => (
        <p class="note" key={`${place} ${message}`}>
          <Text value={message} /> {place !== undefined && <small>{place}</small>}
        </p>
      ))}
      <Load of={graph} part="The graph">
        {(data) => {
          const node = data.nodes.find(({ id }) => id === chosen);
          return (
            <>
              <GraphView graph={data} sample={sample} chosen={chosen} />
              {node !== undefined && <NodePanel key={node.id} node={node} sample={sample} />}
              {node === undefined && chosen !== undefined && (
                <Empty>
                  No component of the running config has the id{" "}
                  <code>
                    <Text value={chosen} max={200} inline />
                  </code>
                  .
                </Empty>
              )}
            </>
          );
        }}
      </Load>
    </>
  );
}

function Legend() {
  return (
    <ul class="legend" aria-label="Colours of the edges">
      <li class="logs">logs</li>
      <li class="traces">traces</li>
      <li class="metrics">metrics</li>
    </ul>
  );
}
