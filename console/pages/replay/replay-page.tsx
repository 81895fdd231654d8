import { useAbilities } from "../../api/abilities.js";
import type { Replay } from "../../api/shapes.js";
import { useLoad } from "../../api/use-load.js";
import { Ago, Badge, Empty, Load } from "../../parts/bits.js";
import { countOf, countText, messageText } from "../../parts/format.js";
import { Needs } from "../../parts/needs.js";
import { Text } from "../../parts/text.js";
import { linkTo, type Route } from "../../route.js";
import { EditPage } from "./edit-page.js";
import { JobPage } from "./job-page.js";
import { NewReplay } from "./new-replay.js";
import { Rehydrations } from "./rehydrations.js";
import { replayOf } from "./replay-api.js";
import { replayStanding } from "./replay-standing.js";

const EVERY_MS = 2_000;

export function ReplayBadge({ replay }: { replay: Replay }) {
  const { tone, text } = replayStanding(replay);
  return <Badge tone={tone}>{text}</Badge>;
}

/** Replays: a new one, a single one, the list of all, or an entry to edit before its replay. */
export function ReplayPage({ route }: { route: Route }) {
  const [what, id] = route.rest;
  if (what === "new")
    return (
      <Needs right="replay" what="Replaying dead letters">
        <NewReplay key={JSON.stringify(route.query)} asked={route.query} />
      </Needs>
    );
  if (what === "edit" && id !== undefined) return <EditPage id={id} />;
  if (what !== undefined && what !== "") return <JobPage id={what} />;
  return <ReplayHistory />;
}

function ReplayHistory() {
  const loaded = useLoad<{ replays: readonly Replay[] }>("/replays", EVERY_MS);
  const abilities = useAbilities();
  return (
    <>
      <header class="title">
        <h1>Replays</h1>
        <span class="spacer" />
        <a class="button" href={linkTo("failures")}>
          Choose what to replay
        </a>
      </header>
      <Load of={loaded} part="Replays">
        {({ replays }) =>
          replays.length === 0 ? <Empty>Nothing was replayed yet.</Empty> : <ReplayTable replays={replays} />
        }
      </Load>
      {abilities?.hasRoute("POST /rehydrations") && <Rehydrations />}
    </>
  );
}

function ReplayTable({ replays }: { replays: readonly Replay[] }) {
  return (
    <table>
      <thead>
        <tr>
          <th>Replay</th>
          <th>State</th>
          <th>By</th>
          <th class="number">Entries</th>
          <th class="number">Queued again</th>
          <th class="number">Delivered</th>
          <th class="number">Failed again</th>
          <th class="number">Under way</th>
          <th>Started</th>
        </tr>
      </thead>
      <tbody>
        {replays.map(replayOf).map((replay) => (
          <tr key={replay.id}>
            <td class="wide">
              <a href={linkTo("replay", [replay.id])}>
                <ReplayTitle replay={replay} />
              </a>
              <Cause replay={replay} />
              {replay.reason !== undefined && (
                <div class="dim">
                  Reason: <Text value={replay.reason} inline max={120} />
                </div>
              )}
            </td>
            <td data-label="State">
              <ReplayBadge replay={replay} />
            </td>
            <td data-label="By">
              <Text value={replay.by ?? ""} inline max={60} />
            </td>
            <td data-label="Entries" class="number">
              {countText(replay.total)}
            </td>
            <td data-label="Queued again" class="number">
              {countText(replay.queued ?? 0)}
            </td>
            <td data-label="Delivered" class="number">
              {replay.delivered !== undefined && countText(replay.delivered)}
            </td>
            <td data-label="Failed again" class="number">
              {replay.failedAgain !== undefined && countText(replay.failedAgain)}
            </td>
            <td data-label="Under way" class="number">
              {replay.pending !== undefined && countText(replay.pending)}
            </td>
            <td data-label="Started">
              <Ago at={replay.startedAt} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The id is kept for replays without a known cause: a dry run, or one that put nothing back. */
function ReplayTitle({ replay: { id, causes } }: { replay: Replay }) {
  const [first] = causes ?? [];
  if (first === undefined) return <span class="mono">{id}</span>;
  return <Text value={first.class} inline max={80} />;
}

function Cause({ replay: { causes = [], to } }: { replay: Replay }) {
  const [first, ...others] = causes;
  if (first === undefined) return null;
  return (
    <div class="dim">
      <Text value={messageText(first)} inline max={140} />
      {others.length > 0 && ` and ${countOf(others.length, "other cause")}`}
      {to !== undefined && (
        <>
          , sent to <Text value={to} inline max={80} />
        </>
      )}
    </div>
  );
}
