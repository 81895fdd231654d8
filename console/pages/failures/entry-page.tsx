import { useState } from "preact/hooks";
import { useAbilities } from "../../api/abilities.js";
import { segment } from "../../api/client.js";
import type { Entry } from "../../api/shapes.js";
import { useLoad } from "../../api/use-load.js";
import { Ago, Badge, Facts, Load } from "../../parts/bits.js";
import { bytesText, countOf, countText } from "../../parts/format.js";
import { Needs } from "../../parts/needs.js";
import { Text } from "../../parts/text.js";
import { goTo, linkTo } from "../../route.js";
import { ATTEMPTS_MEANING, CALLS_MEANING } from "./calls-meaning.js";
import { DeleteDialog } from "./delete-dialog.js";
import { PayloadView } from "./payload-view.js";
import { Timeline } from "./timeline.js";

/** One entry: its metadata, its history and its payload. */
export function EntryPage({ id }: { id: string }) {
  const abilities = useAbilities();
  const [isDeleting, setDeleting] = useState(false);
  const loaded = useLoad<{ entry: Entry }>(`/dead-letters/${segment(id)}`);
  return (
    <>
      <p class="crumbs">
        <a href={linkTo("failures")}>Failures</a> / <span class="mono">{id}</span>
      </p>
      <Load of={loaded} part="Entry">
        {({ entry }) => (
          <>
            <header class="title">
              <h1>
                <Text value={entry.failure?.error.class ?? entry.state} inline max={100} />
              </h1>
              <Badge tone={entry.state === "failed" ? "bad" : entry.state === "delivered" ? "good" : "info"}>
                {entry.state.replaceAll("_", " ")}
              </Badge>
              <span class="spacer" />
              {entry.state === "failed" && abilities?.hasRole("replay") && abilities.hasRole("reveal") && (
                <a class="button" href={linkTo("replay", ["edit", id])}>
                  Edit…
                </a>
              )}
              {entry.state === "failed" && (
                <Needs right="purge">
                  <button type="button" onClick={() => setDeleting(true)}>
                    Delete…
                  </button>
                </Needs>
              )}
              {entry.state === "failed" && (
                <Needs right="replay" what="Replaying it">
                  <a class="button primary" href={linkTo("replay", ["new"], { ids: id })}>
                    Replay…
                  </a>
                </Needs>
              )}
            </header>
            <div class="columns">
              <section class="card">
                <h2>What it is</h2>
                <EntryFacts entry={entry} />
              </section>
              <section class="card">
                <h2>What happened</h2>
                <Timeline entry={entry} />
              </section>
            </div>
            <PayloadView id={id} edits={entry.edits ?? []} />
            {isDeleting && (
              <DeleteDialog
                selection={{ ids: [id] }}
                onDone={() => goTo("failures", [], { view: "entries" })}
                onClose={() => setDeleting(false)}
              />
            )}
          </>
        )}
      </Load>
    </>
  );
}

/** Name of one record, by signal. */
const RECORDS: Readonly<Record<string, string>> = { logs: "log record", traces: "span", metrics: "data point" };

function EntryFacts({ entry }: { entry: Entry }) {
  const { failure, source } = entry;
  const text = (value: string) => <Text value={value} max={300} />;
  return (
    <Facts
      rows={[
        ["Exporter", text(entry.exporter)],
        ["Pipeline", text(entry.pipeline)],
        [
          "Holds",
          `${countText(entry.items)} ${RECORDS[entry.signal] ?? "record"}${entry.items === 1 ? "" : "s"}, ${bytesText(entry.bytes)}`,
        ],
        ["Came from", text(`${source.receiver} (${source.transport})`)],
        ["Came in", <Ago key="in" at={entry.enqueuedAt} />],
        ["Sent", <CallCounts key="calls" entry={entry} />],
        ...(failure === undefined
          ? []
          : ([
              ["Reason", `${failure.reason.replaceAll("_", " ")} (${failure.category})`],
              ["Error", text(failure.error.message)],
              ["Names", text(failure.names.join(", "))],
              ["Traces", <TraceIds key="traces" ids={failure.traceIds} />],
              [
                "Alike",
                <a
                  key="alike"
                  href={linkTo("failures", [], { signature: failure.signature, exporter: entry.exporter })}
                >
                  all of this cause
                </a>,
              ],
            ] as const)),
        ...(entry.forwarded === undefined
          ? []
          : ([["Forwarded to", text(`${entry.forwarded.to}, ${entry.forwarded.state}`)]] as const)),
        ...(entry.movedFrom === undefined ? [] : ([["Moved from", text(entry.movedFrom)]] as const)),
        ...(entry.parent === undefined
          ? []
          : ([
              [
                "Split from",
                <a key="parent" class="mono" href={linkTo("failures", [entry.parent])}>
                  {entry.parent}
                </a>,
              ],
            ] as const)),
      ]}
    />
  );
}

/** A backend that is down costs calls but no attempts, so the two numbers differ. */
function CallCounts({ entry: { calls, attempts, replays = 0 } }: { entry: Entry }) {
  return (
    <>
      <span title={CALLS_MEANING}>{countOf(calls, "call")}</span>,{" "}
      <span title={ATTEMPTS_MEANING}>{countOf(attempts, "attempt")}</span>
      {replays > 0 && `, replayed ${replays === 1 ? "once" : `${countText(replays)} times`}`}
      <details class="dim">
        <summary>What is the difference?</summary>
        <p>{CALLS_MEANING}</p>
        <p>{ATTEMPTS_MEANING}</p>
      </details>
    </>
  );
}

function TraceIds({ ids }: { ids: readonly string[] }) {
  const traceUrl = useAbilities()?.traceUrl;
  if (ids.length === 0) return <span class="dim">none</span>;
  return (
    <ul class="plain">
      {ids.map((id) => (
        <li key={id} class="mono">
          {traceUrl === undefined ? (
            <Text value={id} inline />
          ) : (
            <a href={traceLink(traceUrl, id)} target="_blank" rel="noreferrer noopener">
              <Text value={id} inline />
            </a>
          )}
        </li>
      ))}
    </ul>
  );
}

/**
 * The template comes from the config, the id from an unknown sender: encoded, it cannot change the rest of the address.
 */
function traceLink(template: string, id: string): string {
  return template.replaceAll("{trace_id}", () => encodeURIComponent(id));
}
