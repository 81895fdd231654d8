import { useState } from "preact/hooks";
import type {
  InsightAction,
  InsightAnswerRow,
  InsightCut,
} from "../../../src/runtime/contract/insight/insight-answers.js";
import type { InsightBy } from "../../../src/runtime/contract/insight/insight-snapshot.js";
import { query } from "../../api/client.js";
import { useLoad } from "../../api/use-load.js";
import { Load } from "../../parts/bits.js";
import { Choice } from "../../parts/choice.js";
import { Dialog } from "../../parts/dialog.js";
import { DiffLines } from "../../parts/diff-view.js";
import { bytesText, countOf } from "../../parts/format.js";
import { ScrollText } from "../../parts/scroll-text.js";
import { Text } from "../../parts/text.js";
import { linkTo } from "../../route.js";
import { CutRehearsal } from "./cut-rehearsal.js";
import { moneyText } from "./money-text.js";

const ACTION_NAMES: Readonly<Record<InsightAction, string>> = {
  drop: "Drop it",
  sample: "Keep 1 in N",
  dedup: "Join equal records",
  remove_attribute: "Remove the attribute",
  aggregate_label: "Aggregate a label away",
};
/** Stands for all resource attributes together, which cannot be aggregated away. */
const RESOURCE_LABEL = "(resource)";

/** How a row can be cut. */
export function cutActions(by: InsightBy, { signal, labels = [] }: InsightAnswerRow): readonly InsightAction[] {
  if (by === "exporter") return [];
  if (by === "attribute") return ["remove_attribute"];
  if (by === "duplicates") return signal === "logs" ? ["dedup"] : [];
  const hasLabels = labels.some(({ label }) => label !== RESOURCE_LABEL);
  if (by === "cardinality") return hasLabels ? ["aggregate_label", "drop"] : ["drop"];
  if (signal === "metrics") return ["drop"];
  return signal === "logs" ? ["drop", "sample", "dedup"] : ["drop", "sample"];
}

interface CutDialogProps {
  readonly by: InsightBy;
  readonly place: string | undefined;
  readonly row: InsightAnswerRow;
  readonly onClose: () => void;
}

/** Shows a config that cuts a row, and what it would save. It applies nothing. */
export function CutDialog({ by, place, row, onClose }: CutDialogProps) {
  const { name, signal, context } = row;
  const actions = cutActions(by, row);
  const labels = (row.labels ?? []).map(({ label }) => label).filter((label) => label !== RESOURCE_LABEL);
  const [action, setAction] = useState<InsightAction>(actions[0]!);
  const [n, setN] = useState("10");
  const [label, setLabel] = useState(labels[0] ?? "");
  const asked = {
    action,
    by,
    name,
    signal,
    context,
    place,
    ...(action === "sample" && { n }),
    ...(action === "aggregate_label" && { label }),
  };
  const askedQuery = query(asked);
  const cut = useLoad<InsightCut>(`/insight/cut${askedQuery}`);
  return (
    <Dialog title="Cut" wide onClose={onClose}>
      <form class="cut" onSubmit={(event) => event.preventDefault()}>
        <p>
          <strong>
            <Text value={name} inline max={200} />
          </strong>{" "}
          <span class="dim">{signal}</span>
        </p>
        <Choice
          label="How"
          value={action}
          choices={actions.map((each) => [each, ACTION_NAMES[each]])}
          onChange={(chosen) => setAction(chosen as InsightAction)}
        />
        {action === "sample" && (
          <label class="field">
            <span>N</span>
            <input
              type="number"
              min={2}
              max={1_000_000}
              value={n}
              onInput={(event) => setN(event.currentTarget.value)}
            />
          </label>
        )}
        {action === "aggregate_label" && (
          <Choice label="Label" value={label} choices={labels.map((each) => [each, each])} onChange={setLabel} />
        )}
        <Load of={cut} part="Cut">
          {(answer) => (
            <>
              <CutView cut={answer} />
              <CutRehearsal key={askedQuery} query={askedQuery} saves={answer.saves} />
              <HowToUse rehearse={answer.rehearse} />
            </>
          )}
        </Load>
      </form>
    </Dialog>
  );
}

function CutView({ cut: { saves, notes, yaml, diff, pipelines } }: { cut: InsightCut }) {
  return (
    <>
      <p role="status">
        {saves === null
          ? "How much this saves is known only after a rehearsal."
          : `If traffic stays as it is, this saves ${savingText(saves)}.`}
      </p>
      {notes.map((note) => (
        <p key={note} class="note">
          <Text value={note} max={400} />
        </p>
      ))}
      <h3>Config fragment</h3>
      <ScrollText name="code">
        <Text value={yaml} max={20_000} />
      </ScrollText>
      {navigator.clipboard !== undefined && (
        <p>
          <button type="button" onClick={() => void navigator.clipboard.writeText(yaml)}>
            Copy
          </button>
        </p>
      )}
      {diff !== null && (
        <>
          <h3>
            Change of the config, in <Text value={pipelines.join(", ")} inline max={200} />
          </h3>
          <DiffLines lines={diff} />
        </>
      )}
    </>
  );
}

function HowToUse({ rehearse }: { rehearse: string }) {
  return (
    <>
      <p>
        Nothing is applied. To use it, save the fragment as <code>cut.yaml</code>, and run the agent with both files. To
        try both files in a terminal:
      </p>
      <ScrollText name="code">
        <Text value={rehearse} max={400} />
      </ScrollText>
      <p class="dim">
        If you put it into a config file of this agent, <a href={linkTo("rehearsal")}>rehearse it here</a> before you
        reload.
      </p>
    </>
  );
}

function savingText({ bytes, records, series, share, costPerDay }: NonNullable<InsightCut["saves"]>): string {
  const parts = [
    `${bytesText(bytes)} per day (${(share * 100).toFixed(1)} % of all bytes)`,
    ...(records > 0 ? [countOf(records, "record")] : []),
    ...(series > 0 ? [countOf(series, "series", "series")] : []),
    ...(costPerDay === null ? [] : [`costs of ${moneyText(costPerDay)} per day`]),
  ];
  return parts.join(", ");
}
