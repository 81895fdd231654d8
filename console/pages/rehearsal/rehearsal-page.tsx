import { useState } from "preact/hooks";
import { useAbilities } from "../../api/abilities.js";
import { request } from "../../api/client.js";
import type { Rehearsal, ReloadReport } from "../../api/shapes.js";
import { useLoad } from "../../api/use-load.js";
import { Ago, Badge, Empty, ErrorText, Facts, Load, type Tone } from "../../parts/bits.js";
import { bytesText, countText, durationText } from "../../parts/format.js";
import { Text } from "../../parts/text.js";
import { ProblemList } from "../config/problem-list.js";
import { ReloadDialog } from "../config/reload-dialog.js";
import { OutcomeBadge, ReloadChanges } from "../config/reload-report.js";
import { RehearsalForm } from "./rehearsal-form.js";
import { ReportView } from "./report-view.js";

const RUNNING_EVERY_MS = 1_000;
const IDLE_EVERY_MS = 5_000;

/** Shows what the files of the config would do to the traffic, before they are used. */
export function RehearsalPage() {
  const [isRunning, setRunning] = useState(false);
  const loaded = useLoad<{ rehearsal: Rehearsal | null }>(
    "/config/rehearsal",
    isRunning ? RUNNING_EVERY_MS : IDLE_EVERY_MS,
  );
  const { data } = loaded;
  const runsNow = data?.rehearsal?.state === "sampling" || data?.rehearsal?.state === "comparing";
  if (data !== undefined && runsNow !== isRunning) setRunning(runsNow);
  const canStart = useAbilities()?.hasRole("configure") ?? false;
  return (
    <>
      <h1>Rehearsal</h1>
      <p class="dim">
        Runs the config files next to the running config, on a sample of the traffic, and compares what exporters would
        get. Nothing is sent, and the running pipelines are not changed.
      </p>
      {canStart && !runsNow && <RehearsalForm onStarted={loaded.reload} />}
      <Load of={loaded} part="Rehearsals">
        {({ rehearsal }) =>
          rehearsal === null ? (
            <Empty>
              {canStart
                ? "There has been no rehearsal since the agent started."
                : "To start a rehearsal, you need the role configure."}
            </Empty>
          ) : (
            <Current key={rehearsal.id} rehearsal={rehearsal} canStart={canStart} onChange={loaded.reload} />
          )
        }
      </Load>
    </>
  );
}

const STATES: Readonly<Record<Rehearsal["state"], { readonly tone: Tone; readonly text: string }>> = {
  sampling: { tone: "info", text: "taking a sample" },
  comparing: { tone: "info", text: "comparing" },
  done: { tone: "good", text: "passed" },
  failed: { tone: "bad", text: "failed" },
  cancelled: { tone: "off", text: "cancelled" },
};

function Current(props: { rehearsal: Rehearsal; canStart: boolean; onChange: () => void }) {
  const { rehearsal, canStart, onChange } = props;
  const { state, failed, failOn, error, problems, changedPlugins, report, generation, change } = rehearsal;
  const [isAsked, setAsked] = useState(false);
  const [reloaded, setReloaded] = useState<ReloadReport>();
  const holds = failed.length > 0;
  const { tone, text } = holds ? STATES.failed : STATES[state];
  return (
    <>
      <section class="card" aria-label="Rehearsal">
        <header>
          <h2>{report === undefined ? "Rehearsal" : "Result"}</h2>
          <Badge tone={tone}>{state === "done" && failOn.length === 0 ? "done" : text}</Badge>
          <span class="spacer" />
          {canStart && (state === "sampling" || state === "comparing") && <CancelButton onDone={onChange} />}
          {canStart && state === "done" && change === undefined && reloaded === undefined && (
            <button type="button" class={holds ? "" : "primary"} disabled={holds} onClick={() => setAsked(true)}>
              Reload…
            </button>
          )}
        </header>
        {change !== undefined && (
          <p class="note">
            This was a cut from the page Cost, not the config files: <Text value={change} inline max={200} />
          </p>
        )}
        <Progress rehearsal={rehearsal} />
        {failed.map((condition) => (
          <p class="problem" key={condition}>
            This condition holds: <Text value={condition} />
          </p>
        ))}
        <ErrorText message={error} />
        <ProblemList problems={problems} />
        {changedPlugins.map((path) => (
          <p class="note" key={path}>
            The plugin <Text value={path} /> has changed: both configs ran with its new version.
          </p>
        ))}
        {reloaded !== undefined && (
          <div role="status">
            Reload: <OutcomeBadge outcome={reloaded.outcome} />
            <ReloadChanges report={reloaded} />
          </div>
        )}
      </section>
      {report !== undefined && <ReportView report={report} />}
      {isAsked && <ReloadDialog expected={generation.after} onDone={setReloaded} onClose={() => setAsked(false)} />}
    </>
  );
}

function Progress({ rehearsal }: { rehearsal: Rehearsal }) {
  const { state, seconds, secondsLeft, sample, progress, by, startedAt, share } = rehearsal;
  const isSampling = state === "sampling";
  const skipped = sample.skipped === 0 ? "" : `; ${countText(sample.skipped)} left out because of limits`;
  return (
    <>
      {(isSampling || state === "comparing") && (
        <>
          <progress
            value={isSampling ? seconds - secondsLeft : progress}
            max={isSampling ? seconds : 1}
            aria-label="Progress"
          />
          <p role="status">
            {isSampling
              ? `${durationText(secondsLeft * 1000)} left to take the sample`
              : `Both configs run on the sample: ${Math.round(progress * 100)} %`}
          </p>
        </>
      )}
      <Facts
        rows={[
          [
            "Sample",
            `${countText(sample.records)} records, ${bytesText(sample.bytes)}, ${+(share * 100).toFixed(2)} % of the batches${skipped}`,
          ],
          ["Started", <Ago key="started" at={startedAt} />],
          ["By", <Text key="by" value={by} />],
        ]}
      />
    </>
  );
}

function CancelButton({ onDone }: { onDone: () => void }) {
  const [error, setError] = useState<string>();
  const cancel = () =>
    request("DELETE", "/config/rehearsal").then(onDone, (failure: unknown) => setError((failure as Error).message));
  return (
    <>
      <ErrorText message={error} />
      <button type="button" class="danger" onClick={() => void cancel()}>
        Cancel
      </button>
    </>
  );
}
