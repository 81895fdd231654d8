import type { Receiver } from "../../api/shapes.js";
import { useLoad } from "../../api/use-load.js";
import { Ago, Facts, Load, StateBadge } from "../../parts/bits.js";
import { countText } from "../../parts/format.js";
import { Text } from "../../parts/text.js";
import { StateCounts } from "./state-counts.js";

const EVERY_MS = 2_000;

/** The state of every receiver: whether its sources can be read, and what waits there. */
export function Receivers() {
  const loaded = useLoad<{ receivers: readonly Receiver[] }>("/receivers", EVERY_MS);
  return (
    <>
      <h1>Receivers</h1>
      <Load of={loaded} part="Receivers">
        {({ receivers }) => (
          <>
            <ul class="totals">
              <StateCounts of={receivers} />
            </ul>
            <div class="cards">
              {receivers.map((each) => (
                <ReceiverCard key={each.id} receiver={each} />
              ))}
            </div>
          </>
        )}
      </Load>
    </>
  );
}

function ReceiverCard({ receiver }: { receiver: Receiver }) {
  const { id, state, lag, lastMessageAt, lastError, reconnects, down, facts = {} } = receiver;
  return (
    <article class="card" aria-label={id}>
      <header>
        <h2>
          <Text value={id} inline max={80} />
        </h2>
        <StateBadge state={state} />
      </header>
      {down.length > 0 && (
        <p class="problem">
          Cannot read <Text value={listText(down)} />
        </p>
      )}
      <Facts
        rows={[
          ["Last data", <Ago key="data" at={lastMessageAt} />],
          ...(lag === undefined ? [] : ([["Waiting at the source", countText(lag)]] as const)),
          ...(reconnects === 0 ? [] : ([["Reconnects", countText(reconnects)]] as const)),
          ...Object.entries(facts).map(
            ([source, own]) => [source, <Text key={source} value={factText(own)} />] as const,
          ),
          [
            "Last error",
            lastError === undefined ? (
              "none"
            ) : (
              <>
                <strong>
                  <Text value={lastError.source} inline max={80} />
                </strong>{" "}
                <Ago at={lastError.at} />
                <div class="dim">
                  <Text value={lastError.message} />
                </div>
              </>
            ),
          ],
        ]}
      />
    </article>
  );
}

/** The first few of many sources, and how many more there are. */
function listText(sources: readonly string[]): string {
  const more = sources.length - MAX_SOURCES;
  return more > 0 ? `${sources.slice(0, MAX_SOURCES).join(", ")} and ${countText(more)} more` : sources.join(", ");
}

const MAX_SOURCES = 5;

/** Such as `max receive count: 5, dead letter queue: arn:...`. */
function factText(facts: NonNullable<Receiver["facts"]>[string]): string {
  return Object.entries(facts)
    .map(([name, value]) => `${name.replaceAll("_", " ")}: ${value}`)
    .join(", ");
}
