import type { OtherAgent } from "../../api/shapes.js";
import { useLoad } from "../../api/use-load.js";
import { Ago, Badge, Empty, Load, type Tone } from "../../parts/bits.js";
import { bytesText, countText, durationText, toMs } from "../../parts/format.js";
import { Text } from "../../parts/text.js";

const EVERY_MS = 5_000;

const TONES: Readonly<Record<OtherAgent["state"], Tone>> = {
  UP: "good",
  DEGRADED: "warn",
  DOWN: "bad",
  UNREACHABLE: "bad",
  DENIED: "bad",
  INVALID: "bad",
  WAITING: "off",
};

/** The other agents that the config names, with links to their consoles. */
export function AgentsPage() {
  const loaded = useLoad<{ agents: readonly OtherAgent[] }>("/agents", EVERY_MS);
  return (
    <>
      <h1>Agents</h1>
      <Load of={loaded} part="Agents">
        {({ agents }) =>
          agents.length === 0 ? (
            <Empty>
              The config names no other agents: list them under <code>agents</code> of the extension <code>admin</code>.
            </Empty>
          ) : (
            <>
              <Totals agents={agents} />
              <AgentTable agents={agents} />
            </>
          )
        }
      </Load>
    </>
  );
}

function Totals({ agents }: { agents: readonly OtherAgent[] }) {
  const sum = (of: (each: NonNullable<OtherAgent["exporters"]>) => number) =>
    countText(agents.reduce((all, { exporters }) => all + (exporters === undefined ? 0 : of(exporters)), 0));
  const up = agents.filter(({ state }) => state === "UP").length;
  const generations = new Set(agents.flatMap(({ agent }) => (agent === undefined ? [] : [agent.generation])));
  return (
    <ul class="totals">
      <li>
        <strong>
          {up} of {agents.length}
        </strong>
        up
      </li>
      <li>
        <strong>{sum(({ openBreakers, halfOpenBreakers }) => openBreakers + halfOpenBreakers)}</strong>breakers open
      </li>
      <li>
        <strong>{sum(({ deadLetters }) => deadLetters)}</strong>dead letters
      </li>
      {generations.size > 0 && (
        <li>
          <strong>{generations.size}</strong>
          {generations.size === 1 ? "config" : "different configs"}
        </li>
      )}
    </ul>
  );
}

function AgentTable({ agents }: { agents: readonly OtherAgent[] }) {
  return (
    <table>
      <thead>
        <tr>
          <th>Agent</th>
          <th>State</th>
          <th>Version</th>
          <th>Up</th>
          <th>Config</th>
          <th>Exporters</th>
          <th>Breakers</th>
          <th class="number">Dead letters</th>
          <th class="number">Queued</th>
          <th>Read</th>
        </tr>
      </thead>
      <tbody>
        {agents.map((each) => (
          <AgentRow key={each.name} other={each} />
        ))}
      </tbody>
    </table>
  );
}

function AgentRow({ other }: { other: OtherAgent }) {
  const { name, consoleUrl, state, problem, readAt, agent, exporters } = other;
  return (
    <tr aria-label={name}>
      <td data-label="Agent">
        <a href={consoleUrl} target="_blank" rel="noopener noreferrer">
          <Text value={name} inline max={120} />
        </a>
        {agent !== undefined && agent.name !== name && (
          <>
            {" "}
            <small>
              <Text value={agent.name} inline max={60} />
            </small>
          </>
        )}
      </td>
      <td data-label="State">
        <Badge tone={TONES[state]}>{state}</Badge>
        {agent !== undefined && agent.state !== "ready" && (
          <Badge tone="warn">
            <Text value={agent.state} inline max={20} />
          </Badge>
        )}
      </td>
      {agent === undefined ? (
        <td class="wide dim" data-label="Problem" colSpan={7}>
          <Text value={problem ?? "not read yet"} />
        </td>
      ) : (
        <>
          <td data-label="Version">
            <Text value={agent.version} inline max={30} />
          </td>
          <td data-label="Up">{durationText(Math.max(0, Date.now() - toMs(agent.startedAt)) || 0)}</td>
          <td data-label="Config">
            {agent.generationNumber !== undefined && `${agent.generationNumber} · `}
            <code>
              <Text value={agent.generation} inline max={16} />
            </code>
          </td>
          <Exporters exporters={exporters} />
        </>
      )}
      <td data-label="Read">{readAt === undefined ? "" : <Ago at={readAt} />}</td>
    </tr>
  );
}

function Exporters({ exporters }: { exporters: OtherAgent["exporters"] | undefined }) {
  if (exporters === undefined)
    return (
      <td class="dim" data-label="Exporters" colSpan={4}>
        no queues
      </td>
    );
  const { total, degraded, down, paused, openBreakers, halfOpenBreakers, deadLetters } = exporters;
  const failing = [
    [down, "down"],
    [degraded, "degraded"],
    [paused, "paused"],
  ].flatMap(([count, text]) => (count === 0 ? [] : [`${count} ${text}`]));
  return (
    <>
      <td data-label="Exporters">
        {countText(total)}
        {failing.length > 0 && `: ${failing.join(", ")}`}
      </td>
      <td data-label="Breakers">
        {openBreakers + halfOpenBreakers === 0 ? (
          "closed"
        ) : (
          <Badge tone="bad">{`${openBreakers + halfOpenBreakers} open`}</Badge>
        )}
      </td>
      <td data-label="Dead letters" class="number">
        {countText(deadLetters)}
      </td>
      <td data-label="Queued" class="number">
        {bytesText(exporters.queuedBytes)}
      </td>
    </>
  );
}
