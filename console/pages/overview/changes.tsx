import type { ComponentChildren } from "preact";
import type { Agent, AuditRecord, Replay, RunningConfig, Time, Worker } from "../../api/shapes.js";
import { useLoad } from "../../api/use-load.js";
import { Ago } from "../../parts/bits.js";
import { countOf, toMs } from "../../parts/format.js";
import { Text } from "../../parts/text.js";
import { linkTo } from "../../route.js";
import { auditSentence } from "../audit/audit-sentence.js";
import { replayOf } from "../replay/replay-api.js";
import { replayStanding } from "../replay/replay-standing.js";

const EVERY_MS = 10_000;
const MAX_ROWS = 8;

interface Change {
  readonly at: Time;
  readonly key: string;
  readonly show: ComponentChildren;
}

/** The last changes: starts, configs, worker restarts, replays, and actions of operators. */
export function Changes() {
  const agent = useLoad<Agent>("/agent", EVERY_MS).data;
  const config = useLoad<RunningConfig>("/config", EVERY_MS).data;
  const workers = useLoad<{ workers: readonly Worker[] }>("/workers", EVERY_MS).data?.workers ?? [];
  const replays = useLoad<{ replays: readonly Replay[] }>(`/replays?limit=${MAX_ROWS}`, EVERY_MS).data?.replays ?? [];
  const audit = useLoad<{ records: readonly AuditRecord[] }>("/audit", EVERY_MS).data?.records ?? [];
  const changes = [
    ...(agent === undefined ? [] : [agentChange(agent)]),
    ...(config === undefined ? [] : [configChange(config)]),
    ...workers.flatMap(workerChange),
    ...replays.map(replayChange),
    ...audit.filter(({ action }) => !ELSEWHERE.has(action)).map(auditChange),
  ];
  const latest = changes.sort((a, b) => toMs(b.at) - toMs(a.at)).slice(0, MAX_ROWS);
  return (
    <section class="card" aria-label="What changed last">
      <header>
        <h2>What changed last</h2>
        <span class="spacer" />
        <a href={linkTo("audit")}>Audit</a>
      </header>
      <ul class="plain changes">
        {latest.map(({ at, key, show }) => (
          <li key={key}>
            <small>
              <Ago at={at} />
            </small>
            <span>{show}</span>
          </li>
        ))}
      </ul>
      {config?.differs && (
        <p class="note">
          The config files differ from the config that runs.{" "}
          <a href={linkTo("config")}>See what a reload would change</a>.
        </p>
      )}
    </section>
  );
}

function agentChange({ startedAt, version }: Agent): Change {
  return { at: startedAt, key: "start", show: `The agent was started (version ${version})` };
}

function configChange({ generation: { number, loadedAt } }: RunningConfig): Change {
  const show = (
    <>
      Config <a href={linkTo("config")}>generation {number}</a> was loaded
    </>
  );
  return { at: loadedAt, key: "config", show };
}

function workerChange({ worker, lastExit, restarts }: Worker): Change[] {
  if (lastExit === undefined) return [];
  const show = (
    <>
      Worker {worker} ended (<Text value={lastExit.reason} inline max={80} />
      ), restarted {restarts === 1 ? "once" : `${restarts} times`} in all
    </>
  );
  return [{ at: lastExit.at, key: `worker ${worker}`, show }];
}

function replayChange(answer: Replay): Change {
  const replay = replayOf(answer);
  const { id, total, by, startedAt } = replay;
  const show = (
    <>
      <Text value={by ?? "unknown"} inline max={40} />:{" "}
      <a href={linkTo("replay", [id])}>
        {replay.dryRun ? "dry run" : "replay"} of {countOf(total, "dead letter")}
      </a>
      {!replay.dryRun && `, ${replayStanding(replay).text}`}
    </>
  );
  return { at: startedAt, key: `replay ${id}`, show };
}

/** Replays are listed with their outcomes, and looking changes nothing. */
const ELSEWHERE = new Set(["replay", "reveal", "search", "export", "rehearse"]);

function auditChange(record: AuditRecord, i: number): Change {
  const { at, actor, outcome } = record;
  const show = (
    <>
      <Text value={actor} inline max={40} /> <Text value={auditSentence(record)} inline max={160} />
      {outcome !== "done" && (
        <>
          , <Text value={outcome} inline max={80} />
        </>
      )}
    </>
  );
  return { at, key: `audit ${at} ${i}`, show };
}
