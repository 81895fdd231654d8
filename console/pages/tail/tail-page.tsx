import { useState } from "preact/hooks";
import type { Graph } from "../../api/shapes.js";
import { useLoad } from "../../api/use-load.js";
import { Empty, Load } from "../../parts/bits.js";
import { Needs } from "../../parts/needs.js";
import { goTo, type Route } from "../../route.js";
import { Tap } from "./tap.js";

/** Taps any node or edge, with a condition. */
export function TailPage({ route }: { route: Route }) {
  const graph = useLoad<Graph>("/graph");
  const { at, where, rate } = route.query;
  return (
    <>
      <h1>Live tail</h1>
      <Needs right="reveal" what="Watching records">
        <Load of={graph} part="Live tail">
          {(data) => <TapForm key={JSON.stringify(route.query)} graph={data} query={route.query} />}
        </Load>
        {at === undefined && graph.data !== undefined && (
          <Empty>Choose a place and click Tap. You then see a sample of the records that pass there, masked.</Empty>
        )}
      </Needs>
      {at !== undefined && (
        <Tap
          key={JSON.stringify(route.query)}
          at={at}
          {...(where !== undefined && { where })}
          rate={Number(rate ?? 10)}
        />
      )}
    </>
  );
}

function TapForm({ graph, query }: { graph: Graph; query: Route["query"] }) {
  const [at, setAt] = useState(query["at"] ?? graph.nodes[0]?.id ?? "");
  const [where, setWhere] = useState(query["where"] ?? "");
  const [rate, setRate] = useState(query["rate"] ?? "10");
  const nameOf = (id: string) => graph.nodes.find((node) => node.id === id)?.name ?? id;
  return (
    <form
      class="filters"
      onSubmit={(event) => {
        event.preventDefault();
        goTo("tail", [], { at, where, rate });
      }}
    >
      <label class="field wide">
        <span>Where</span>
        <select value={at} onChange={(event) => setAt(event.currentTarget.value)}>
          <optgroup label="What passes through">
            {graph.nodes.map(({ id, kind, name, pipelines }) => (
              <option key={id} value={id}>
                {`${kind} ${name}${kind === "processor" ? ` (${pipelines.join(", ")})` : ""}`}
              </option>
            ))}
          </optgroup>
          <optgroup label="What passes between">
            {graph.edges.map(({ id, from, to, pipeline }) => (
              <option key={id} value={id}>
                {`${nameOf(from)} → ${nameOf(to)} (${pipeline})`}
              </option>
            ))}
          </optgroup>
        </select>
      </label>
      <label class="field wide">
        <span>OTTL condition</span>
        <input
          value={where}
          spellcheck={false}
          placeholder={"severity_number >= SEVERITY_NUMBER_WARN"}
          onInput={(event) => setWhere(event.currentTarget.value)}
        />
      </label>
      <label class="field">
        <span>At most per second</span>
        <input type="number" min={1} max={100} value={rate} onInput={(event) => setRate(event.currentTarget.value)} />
      </label>
      <footer>
        <button type="submit" class="primary">
          Tap
        </button>
      </footer>
    </form>
  );
}
