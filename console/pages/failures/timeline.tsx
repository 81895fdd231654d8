import type { Cycle, Edit, Entry } from "../../api/shapes.js";
import { clockText, countOf, durationText, toMs } from "../../parts/format.js";
import { Text } from "../../parts/text.js";

/** From the arrival of the entry through earlier failures and replays to its last attempts and its outcome. */
export function Timeline({ entry }: { entry: Entry }) {
  const { history, cycles, failure, calls, edits = [] } = entry;
  return (
    <ol class="timeline">
      <Step at={entry.enqueuedAt} title="came in" tone="info" />
      {cycles.map((cycle) => (
        <CycleSteps key={String(cycle.replayedAt)} cycle={cycle} />
      ))}
      {calls > history.length && (
        <li class="dim">
          {calls - history.length === 1
            ? "1 earlier attempt is no longer kept"
            : `${countOf(calls - history.length, "earlier attempt")} are no longer kept`}
        </li>
      )}
      {history.map((attempt, i) => (
        <Step
          key={`${attempt.at} ${i}`}
          at={attempt.at}
          title={`attempt failed: ${attempt.error}`}
          tone="warn"
          text={attempt.message}
        >
          {attempt.requestItems !== undefined && `in a request of ${countOf(attempt.requestItems, "record")}`}
          {attempt.delayMs !== undefined && ` next after ${durationText(attempt.delayMs)}`}
        </Step>
      ))}
      {failure !== undefined && (
        <Step
          at={failure.at}
          title={`became a dead letter: ${failure.reason.replaceAll("_", " ")}`}
          tone="bad"
          text={failure.error.message}
        />
      )}
      {edits.map((edit) => (
        <EditStep key={edit.revision} edit={edit} />
      ))}
    </ol>
  );
}

function CycleSteps({ cycle }: { cycle: Cycle }) {
  const { failure, calls, replayedAt, replayedBy } = cycle;
  return (
    <>
      <Step
        at={failure.at}
        title={`failed after ${calls} ${calls === 1 ? "call" : "calls"}: ${failure.error.class}`}
        tone="bad"
        text={failure.error.message}
      />
      <Step at={replayedAt} title={`replayed by ${replayedBy}`} tone="good" />
    </>
  );
}

/** Edits are shown last, whatever their time, because they explain the current payload. */
function EditStep({ edit: { at, by, reason, revision, transform } }: { edit: Edit }) {
  const how = transform === undefined ? "edited" : "changed by statements";
  return (
    <Step at={at} title={`${how} by ${by} (revision ${revision})`} tone="info" text={reason}>
      {transform?.map((text, i) => (
        <div key={i}>
          <Text value={text} max={300} />
        </div>
      ))}
    </Step>
  );
}

interface StepProps {
  readonly at: string | number;
  readonly title: string;
  readonly tone: "info" | "good" | "warn" | "bad";
  readonly text?: string | undefined;
  readonly children?: preact.ComponentChildren;
}

function Step({ at, title, tone, text, children }: StepProps) {
  return (
    <li class={tone}>
      <time dateTime={new Date(toMs(at)).toISOString()}>{clockText(at)}</time>
      <div>
        <Text value={title} max={160} />
        {text !== undefined && text !== "" && (
          <div class="dim">
            <Text value={text} max={300} />
          </div>
        )}
        {children && <div class="dim">{children}</div>}
      </div>
    </li>
  );
}
