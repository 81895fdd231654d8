import { useState } from "preact/hooks";
import { type Abilities, useAbilities } from "../../api/abilities.js";
import type { DryRun, Exporter, Replay } from "../../api/shapes.js";
import { useLoad } from "../../api/use-load.js";
import { Empty, ErrorText, Facts } from "../../parts/bits.js";
import { Choice } from "../../parts/choice.js";
import { countText, durationText } from "../../parts/format.js";
import { Text } from "../../parts/text.js";
import { WorkProgress } from "../../parts/work-progress.js";
import { goTo, linkTo } from "../../route.js";
import { CauseName } from "../failures/chips.js";
import { filterLabel } from "../failures/filters.js";
import { DryRunView } from "./dry-run-view.js";
import {
  type Asked,
  dryRun as askDryRun,
  changeReplay,
  type ReplayDraft,
  selectionOf,
  startReplay,
} from "./replay-api.js";

/** Leads from the selection through destination, rate and changes to a dry run, and only then to the replay. */
export function NewReplay({ asked }: { asked: Asked }) {
  const [draft, setDraft] = useState<ReplayDraft>({
    to: "",
    rate: "",
    transform: "",
    approved: false,
    reason: "",
  });
  const abilities = useAbilities();
  const [dryRun, setDryRun] = useState<DryRun>();
  const [error, setError] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const [progress, setProgress] = useState<Replay>();
  const change = (changed: Partial<ReplayDraft>) => {
    setDraft({ ...draft, ...changed });
    setDryRun(undefined);
  };
  const send = async (isDry: boolean) => {
    if (abilities === undefined) return;
    setBusy(true);
    setError(undefined);
    try {
      if (isDry) setDryRun(await askDryRun(asked, draft, abilities, setProgress));
      else goTo("replay", [await startReplay(asked, draft, abilities)]);
    } catch (failure) {
      setError((failure as Error).message);
    }
    setProgress(undefined);
    setBusy(false);
  };
  if (selectionOf(asked) === undefined)
    return (
      <Empty>
        Nothing is chosen. <a href={linkTo("failures")}>Choose what to replay</a>.
      </Empty>
    );
  return (
    <>
      <h1>New replay</h1>
      <div class="columns">
        <section class="card">
          <h2>What</h2>
          <Chosen asked={asked} />
        </section>
        <section class="card">
          <h2>How</h2>
          <OptionsForm draft={draft} abilities={abilities} onChange={change} />
        </section>
      </div>
      <p class="toolbar">
        <button
          type="button"
          class={dryRun === undefined ? "primary" : ""}
          disabled={isBusy || abilities === undefined}
          onClick={() => void send(true)}
        >
          Dry run
        </button>
        <button
          type="button"
          class={dryRun === undefined ? "" : "primary"}
          disabled={isBusy || dryRun === undefined || dryRun.wouldReplay === 0}
          onClick={() => void send(false)}
        >
          {dryRun === undefined ? "Start replay" : `Start replay of ${countText(dryRun.wouldReplay)}`}
        </button>
        {dryRun === undefined && progress === undefined && (
          <span class="dim">The dry run shows what would happen; nothing is sent.</span>
        )}
        {dryRun !== undefined && <span class="dim">{durationAt(dryRun.wouldReplay, draft.rate)}</span>}
      </p>
      {progress !== undefined && (
        <section class="card" aria-label="Dry run">
          <WorkProgress label="Dry run" done={progress.done ?? 0} total={progress.total}>
            <button type="button" onClick={() => void changeReplay(progress.id, "cancel").catch(() => {})}>
              Cancel
            </button>
          </WorkProgress>
        </section>
      )}
      <ErrorText message={error} />
      {dryRun !== undefined && <DryRunView result={dryRun} />}
    </>
  );
}

/** How long a replay takes at a rate that the user has set. Without one, only the backend knows. */
function durationAt(entries: number, rate: string): string {
  if (rate === "" || !(Number(rate) > 0)) return "As fast as the backend takes them.";
  return `At ${rate} entries per second this takes at least ${durationText((entries / Number(rate)) * 1000)}.`;
}

function Chosen({ asked }: { asked: Asked }) {
  const ids = asked["ids"]?.split(",");
  if (ids !== undefined) {
    return (
      <>
        <p>{ids.length === 1 ? "One entry" : `${ids.length} entries`}</p>
        <ul class="plain mono">
          {ids.slice(0, 10).map((id) => (
            <li key={id}>
              <a href={linkTo("failures", [id])}>
                <Text value={id} inline max={80} />
              </a>
            </li>
          ))}
          {ids.length > 10 && <li class="dim">and {ids.length - 10} others</li>}
        </ul>
      </>
    );
  }
  if (asked["all"] === "true") return <p>All dead letters</p>;
  return (
    <>
      <p>All dead letters with</p>
      <Facts
        rows={Object.entries(asked).map(
          ([name, value]) =>
            [
              filterLabel(name),
              name === "signature" ? <CauseName key={name} filters={asked} /> : <Text key={name} value={value} />,
            ] as const,
        )}
      />
    </>
  );
}

interface OptionsProps {
  readonly draft: ReplayDraft;
  readonly abilities: Abilities | undefined;
  readonly onChange: (changed: Partial<ReplayDraft>) => void;
}

function OptionsForm({ draft, abilities, onChange }: OptionsProps) {
  const { data } = useLoad<{ exporters: readonly Exporter[] }>("/exporters");
  return (
    <form onSubmit={(event) => event.preventDefault()}>
      {abilities?.hasReplayKey("to") && (
        <Choice
          label="To"
          value={draft.to}
          choices={[
            ["", "the exporter that each failed at"],
            ...(data?.exporters ?? []).map(({ id, state }) => [id, state === "UP" ? id : `${id} (${state})`] as const),
          ]}
          onChange={(to) => onChange({ to })}
        />
      )}
      <label class="field">
        <span>Entries per second</span>
        <input
          type="number"
          min={0.1}
          step="any"
          value={draft.rate}
          placeholder="no limit"
          onInput={(event) => onChange({ rate: event.currentTarget.value })}
        />
        <small>
          Without a limit, the backend sets the pace: at most 1,000 of them wait in its queue at a time, and new data
          keeps its room.
        </small>
      </label>
      {abilities?.hasReplayKey("transform") && abilities.hasRole("reveal") && (
        <label class="field">
          <span>Change with OTTL first, one statement a line</span>
          <textarea
            rows={3}
            spellcheck={false}
            value={draft.transform}
            placeholder={'delete_key(log.attributes, "order.total")'}
            onInput={(event) => onChange({ transform: event.currentTarget.value })}
          />
        </label>
      )}
      <label class="check">
        <input
          type="checkbox"
          checked={draft.approved}
          onChange={(event) => onChange({ approved: event.currentTarget.checked })}
        />
        <span>
          Also replay entries that were replayed too often, were partly accepted before, or whose backend is down
        </span>
      </label>
      {abilities?.hasReplayKey("reason") && (
        <label class="field">
          <span>Reason (optional)</span>
          <input
            value={draft.reason}
            maxLength={500}
            onInput={(event) => onChange({ reason: event.currentTarget.value })}
          />
        </label>
      )}
    </form>
  );
}
