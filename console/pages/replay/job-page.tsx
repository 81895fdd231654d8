import { useState } from "preact/hooks";
import { segment } from "../../api/client.js";
import { useEvents } from "../../api/events.js";
import { reloadOverview } from "../../api/overview.js";
import type { Replay, ReplayCause, ReplayOutcome } from "../../api/shapes.js";
import { useLoad } from "../../api/use-load.js";
import { Ago, Badge, ErrorText, Facts, Load } from "../../parts/bits.js";
import { countOf, countText, durationText, messageText, toMs } from "../../parts/format.js";
import { Needs } from "../../parts/needs.js";
import { Text } from "../../parts/text.js";
import { WorkProgress } from "../../parts/work-progress.js";
import { linkTo } from "../../route.js";
import { SKIPS } from "./dry-run-view.js";
import { changeReplay, replayOf } from "./replay-api.js";
import { ReplayBadge } from "./replay-page.js";

/** One replay: its progress, and the outcome of each entry. */
export function JobPage({ id }: { id: string }) {
  const path = `/replays/${segment(id)}`;
  const loaded = useLoad<Replay>(path);
  const [isSettled, setSettled] = useState(false);
  // The agent sends an event on each change; the outcomes are loaded then.
  useEvents(isSettled ? undefined : `${path}/events`, ({ name }) => {
    loaded.reload();
    if (name !== "settled") return;
    setSettled(true);
    reloadOverview();
  });
  return (
    <>
      <p class="crumbs">
        <a href={linkTo("replay")}>Replays</a> / <span class="mono">{id}</span>
      </p>
      <Load of={loaded} part="Replay">
        {(answer) => <Job replay={replayOf(answer)} onDone={loaded.reload} />}
      </Load>
    </>
  );
}

function Job({ replay, onDone }: { replay: Replay; onDone: () => void }) {
  return (
    <>
      <header class="title">
        <h1>Replay of {countText(replay.total)}</h1>
        <ReplayBadge replay={replay} />
        <span class="spacer" />
        <Needs right="replay">
          <Controls replay={replay} onDone={onDone} />
        </Needs>
      </header>
      <Progress replay={replay} />
      {replay.causes !== undefined && replay.causes.length > 0 && <Causes causes={replay.causes} />}
      <ErrorText message={replay.error} />
      {replay.outcomes === undefined ? (
        <p class="dim">
          Queued does not mean delivered: entries that fail again are among the{" "}
          <a href={linkTo("failures")}>failures</a>.
        </p>
      ) : (
        <section class="card">
          <h2>Outcomes</h2>
          <Outcomes outcomes={replay.outcomes} />
        </section>
      )}
    </>
  );
}

function Controls({ replay, onDone }: { replay: Replay; onDone: () => void }) {
  const [error, setError] = useState<string>();
  const act = (action: "pause" | "resume" | "cancel") => {
    changeReplay(replay.id, action).then(onDone, (failure: Error) => setError(failure.message));
  };
  if (replay.state !== "running" && replay.state !== "paused") return null;
  return (
    <>
      <ErrorText message={error} />
      {replay.state === "running" ? (
        <button type="button" onClick={() => act("pause")}>
          Pause
        </button>
      ) : (
        <button type="button" onClick={() => act("resume")}>
          Resume
        </button>
      )}
      <button type="button" class="danger" onClick={() => act("cancel")}>
        Cancel
      </button>
    </>
  );
}

function Progress({ replay }: { replay: Replay }) {
  const { total, queued = 0, delivered, failedAgain = 0, pending = 0, skipped = {} } = replay;
  const left = Object.entries(skipped).filter(([, count]) => count > 0);
  const skippedTotal = left.reduce((sum, [, count]) => sum + count, 0);
  const took = toMs(replay.endedAt ?? Date.now()) - toMs(replay.startedAt);
  const isOver = replay.state !== "running" && replay.state !== "paused";
  const count = (number: number, text: string) => (
    <li>
      <strong>{countText(number)}</strong>
      {text}
    </li>
  );
  return (
    <section class="card" aria-label="Progress">
      <WorkProgress
        label="Progress"
        done={(delivered === undefined ? queued : delivered + failedAgain) + skippedTotal}
        total={isOver && pending === 0 ? queued + skippedTotal : total}
        isMoving={replay.state !== "paused" && !(isOver && pending === 0)}
      />
      <ul class="totals">
        {count(queued, "queued again")}
        {delivered !== undefined && count(delivered, "delivered")}
        {delivered !== undefined && count(failedAgain, "failed again")}
        {delivered !== undefined && count(pending, "under way")}
      </ul>
      <Facts
        rows={[
          ["Started", <Ago key="started" at={replay.startedAt} />],
          ["Took", durationText(took)],
          ["Limit", limitText(replay)],
          ["By", <Text key="by" value={replay.by ?? "unknown"} />],
          ...(replay.reason === undefined ? [] : ([["Reason", <Text key="reason" value={replay.reason} />]] as const)),
          ...(replay.to === undefined ? [] : ([["To", <Text key="to" value={replay.to} />]] as const)),
          ...(replay.transform ?? []).map(
            (text, i) => ["Changed by", <Text key={i} value={text} max={300} />] as const,
          ),
          ...left.map(([reason, count]) => ["Left", `${countText(count)}: ${SKIPS[reason] ?? reason}`] as const),
        ]}
      />
    </section>
  );
}

function limitText({ rate }: Replay): string {
  if (rate === undefined) return "the rate of the exporter";
  return rate === 0 ? "none: as fast as the backend takes them" : `${rate} entries per second`;
}

/** Rows shown at first, and with each click: the page stays short, however many entries there are. */
const ROWS = 20;

function Outcomes({ outcomes }: { outcomes: readonly ReplayOutcome[] }) {
  const [rows, setRows] = useState(ROWS);
  if (outcomes.length === 0) return <p class="dim">None is known yet.</p>;
  const left = outcomes.length - rows;
  return (
    <>
      <table>
        <tbody>
          {outcomes.slice(0, rows).map(({ id, outcome, error }) => (
            <tr key={id}>
              <td>
                <a class="mono" href={linkTo("failures", [id])}>
                  {id}
                </a>
              </td>
              <td>
                <Badge tone={outcome === "delivered" ? "good" : /fail/.test(outcome) ? "bad" : "off"}>
                  {outcome.replaceAll("_", " ")}
                </Badge>
              </td>
              <td class="wide">{error !== undefined && <Text value={error.message || error.class} max={200} />}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {left > 0 && (
        <p class="toolbar">
          <button type="button" onClick={() => setRows(rows + ROWS * 5)}>
            Show {countText(Math.min(left, ROWS * 5))} more
          </button>
          <span class="dim">of {countText(left)} that are listed. Failed ones come first.</span>
        </p>
      )}
    </>
  );
}

/** How the entries had failed, with links to what still fails that way. */
function Causes({ causes }: { causes: readonly ReplayCause[] }) {
  return (
    <section class="card" aria-label="Causes">
      <h2>How they had failed</h2>
      <ul class="plain">
        {causes.map(({ signature, class: name, message, entries }) => (
          <li key={signature}>
            {countOf(entries, "entry", "entries")}: <a href={linkTo("failures", [], { signature })}>{name}</a>{" "}
            <span class="dim">
              <Text value={messageText({ class: name, message })} inline max={200} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
