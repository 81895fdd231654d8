import { useState } from "preact/hooks";
import type { Exporter } from "../../api/shapes.js";
import { useLoad } from "../../api/use-load.js";
import { Badge, Empty, Load, StateBadge } from "../../parts/bits.js";
import { countText } from "../../parts/format.js";
import { Needs } from "../../parts/needs.js";
import { Text } from "../../parts/text.js";
import { type Action, ActionDialog } from "./action-dialog.js";
import { ExporterFacts } from "./exporter-facts.js";
import { Receivers } from "./receivers.js";
import { StateCounts } from "./state-counts.js";
import { Workers } from "./workers.js";

const EVERY_MS = 2_000;

/** The state of every exporter, and the actions of an operator. */
export function ExportersPage() {
  const loaded = useLoad<{ exporters: readonly Exporter[] }>("/exporters", EVERY_MS);
  const [asked, setAsked] = useState<{ id: string; action: Action }>();
  const exporter = loaded.data?.exporters.find(({ id }) => id === asked?.id);
  return (
    <>
      <h1>Exporters</h1>
      <Load of={loaded} part="Exporters">
        {({ exporters }) =>
          exporters.length === 0 ? (
            <Empty>No exporter of this agent has a queue.</Empty>
          ) : (
            <>
              <Totals exporters={exporters} />
              <Needs right="configure" what="Pausing exporters, retrying and holding breakers">
                {null}
              </Needs>
              <div class="cards">
                {exporters.map((each) => (
                  <ExporterCard
                    key={each.id}
                    exporter={each}
                    onAction={(action) => setAsked({ id: each.id, action })}
                  />
                ))}
              </div>
            </>
          )
        }
      </Load>
      <Receivers />
      <Workers />
      {asked !== undefined && exporter !== undefined && (
        <ActionDialog
          exporter={exporter}
          action={asked.action}
          onDone={loaded.reload}
          onClose={() => setAsked(undefined)}
        />
      )}
    </>
  );
}

function Totals({ exporters }: { exporters: readonly Exporter[] }) {
  const sum = (of: (each: Exporter) => number) => exporters.reduce((total, each) => total + of(each), 0);
  const queued = sum(({ queue }) => queue.items);
  const dead = sum(({ deadLetters }) => deadLetters.entries);
  return (
    <ul class="totals">
      <StateCounts of={exporters} />
      <li>
        <strong>{countText(queued)}</strong> {queued === 1 ? "record" : "records"} queued
      </li>
      <li>
        <strong>{countText(dead)}</strong> dead {dead === 1 ? "letter" : "letters"}
      </li>
    </ul>
  );
}

function ExporterCard({ exporter, onAction }: { exporter: Exporter; onAction: (action: Action) => void }) {
  const { id, state, paused, breaker } = exporter;
  const button = (action: Action, label: string) => (
    <button type="button" onClick={() => onAction(action)}>
      {label}
    </button>
  );
  return (
    <article class="card" aria-label={id}>
      <header>
        <h2>
          <Text value={id} inline max={80} />
        </h2>
        <StateBadge state={state} />
        {paused && <Badge tone="off">paused</Badge>}
      </header>
      <ExporterFacts exporter={exporter} />
      <footer>
        <Needs right="configure">
          {paused ? button("resume", "Resume") : button("pause", "Pause")}
          {button("retry", "Retry now")}
          {breaker.forced ? button("auto", "Make the breaker automatic") : button("open", "Open breaker")}
          {!breaker.forced && breaker.state !== "closed" && button("closed", "Close breaker")}
        </Needs>
      </footer>
    </article>
  );
}
