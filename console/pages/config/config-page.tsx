import { useEffect, useState } from "preact/hooks";
import { useAbilities } from "../../api/abilities.js";
import { type ApiError, post } from "../../api/client.js";
import type { ReloadReport, RunningConfig } from "../../api/shapes.js";
import { useLoad } from "../../api/use-load.js";
import { Ago, Badge, Facts, Load, Problem } from "../../parts/bits.js";
import { Needs } from "../../parts/needs.js";
import { linkTo } from "../../route.js";
import { ProblemList } from "./problem-list.js";
import { ReloadDialog } from "./reload-dialog.js";
import { OutcomeBadge, ReloadChanges } from "./reload-report.js";

/** Each request makes the agent read its files. */
const EVERY_MS = 10_000;

/** The config that runs, whether its files differ, and what a reload would change. */
export function ConfigPage() {
  const loaded = useLoad<RunningConfig>("/config", EVERY_MS);
  const abilities = useAbilities();
  const [isAsked, setAsked] = useState(false);
  const [done, setDone] = useState<ReloadReport>();
  const canReload = abilities?.hasRole("configure") ?? false;
  const { data } = loaded;
  return (
    <>
      <header class="title">
        <h1>Config</h1>
        <span class="spacer" />
        <a class="button" href={linkTo("rehearsal")}>
          Rehearse…
        </a>
        <Needs right="configure" what="Reloading">
          <button type="button" class="primary" disabled={data === undefined} onClick={() => setAsked(true)}>
            Reload…
          </button>
        </Needs>
      </header>
      {done !== undefined && (
        <section class="card" role="status" aria-label="Reload">
          <header>
            <h2>Your reload</h2>
            <OutcomeBadge outcome={done.outcome} />
          </header>
          <ReloadChanges report={done} />
        </section>
      )}
      <Load of={loaded} part="The config">
        {(config) => (
          <>
            <Running config={config} showsProblems={done === undefined} />
            {canReload && config.differs && <Plan key={`${config.generation.number}`} />}
            {!canReload && config.differs && (
              <p class="dim">To see what a reload would change, you need the role configure.</p>
            )}
          </>
        )}
      </Load>
      {isAsked && (
        <ReloadDialog
          onDone={(report) => {
            setDone(report);
            loaded.reload();
          }}
          onClose={() => setAsked(false)}
        />
      )}
    </>
  );
}

function Running({ config, showsProblems }: { config: RunningConfig; showsProblems: boolean }) {
  const { generation, differs, lastReload } = config;
  return (
    <section class="card" aria-label="Running config">
      <Facts
        rows={[
          [
            "Generation",
            <>
              <strong>{generation.number}</strong> <code>{generation.hash}</code>
            </>,
          ],
          ["Loaded", <Ago key="loaded" at={generation.loadedAt} />],
          [
            "Files",
            differs ? (
              <Badge tone="warn">differ from the running config</Badge>
            ) : (
              <Badge tone="good">are the same as the running config</Badge>
            ),
          ],
          [
            "Last reload",
            lastReload === null ? (
              <span class="dim">none since the start</span>
            ) : (
              <>
                <OutcomeBadge outcome={lastReload.outcome} /> <Ago at={lastReload.at} />
              </>
            ),
          ],
        ]}
      />
      {showsProblems && lastReload !== null && <ProblemList problems={lastReload.problems} />}
    </section>
  );
}

/** The changes that a reload would make now; loaded again with the page. */
function Plan() {
  const [plan, setPlan] = useState<ReloadReport>();
  const [error, setError] = useState<ApiError>();
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    let isCurrent = true;
    post<ReloadReport>("/config/reload", { dry_run: true }).then(
      (answer) => {
        if (!isCurrent) return;
        setPlan(answer);
        setError(undefined);
      },
      (failure: unknown) => isCurrent && setError(failure as ApiError),
    );
    return () => {
      isCurrent = false;
    };
  }, [turn]);
  return (
    <section class="card" aria-label="What a reload would change">
      <header>
        <h2>What a reload would change</h2>
        <span class="spacer" />
        <button type="button" onClick={() => setTurn(turn + 1)}>
          Check again
        </button>
      </header>
      {error !== undefined && <Problem error={error} part="The plan" />}
      {plan === undefined ? (
        error === undefined && <p class="dim">Loading…</p>
      ) : (
        <>
          {plan.outcome === "invalid" && (
            <p>The files have errors. A reload would be refused, and the agent would keep the old config.</p>
          )}
          <ReloadChanges report={plan} />
        </>
      )}
    </section>
  );
}
