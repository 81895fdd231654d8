import type { ReloadReport } from "../../api/shapes.js";
import { Badge, type Tone } from "../../parts/bits.js";
import { countText } from "../../parts/format.js";
import { Text } from "../../parts/text.js";
import { ProblemList } from "./problem-list.js";

const OUTCOMES: Readonly<Record<ReloadReport["outcome"], { readonly tone: Tone; readonly text: string }>> = {
  applied: { tone: "good", text: "applied" },
  unchanged: { tone: "off", text: "nothing had changed" },
  planned: { tone: "info", text: "planned" },
  invalid: { tone: "bad", text: "refused: the config has errors" },
  rolled_back: { tone: "bad", text: "rolled back" },
};

export function OutcomeBadge({ outcome }: { outcome: ReloadReport["outcome"] }) {
  const { tone, text } = OUTCOMES[outcome];
  return <Badge tone={tone}>{text}</Badge>;
}

const ACTIONS = { keep: "info", add: "good", replace: "warn", remove: "bad" } as const;

/** The components that a reload changes, and what it cannot change. */
export function ReloadChanges({ report }: { report: ReloadReport }) {
  const { changes, kept, settings, afterRestart, problems } = report;
  return (
    <>
      <ProblemList problems={problems} />
      {changes.length > 0 && (
        <table>
          <thead>
            <tr>
              <th>Action</th>
              <th>Component</th>
              <th>Pipeline</th>
              <th>Because</th>
            </tr>
          </thead>
          <tbody>
            {changes.map(({ action, kind, id, pipeline = "", reasons }) => (
              <tr key={`${kind} ${id} ${pipeline}`}>
                <td data-label="Action">
                  <Badge tone={ACTIONS[action]}>{action}</Badge>
                </td>
                <td data-label="Component">
                  {kind} <strong>{<Text value={id} inline max={80} />}</strong>
                </td>
                <td data-label="Pipeline">{pipeline !== "" && <Text value={pipeline} inline max={80} />}</td>
                <td data-label="Because" class="wide">
                  {reasons.length > 0 && <Text value={reasons.join("; ")} />}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {settings.length > 0 && (
        <p class="note">
          Other keys that change: <Text value={settings.join(", ")} />
        </p>
      )}
      {afterRestart.length > 0 && (
        <p class="note">
          Takes effect when the agent is restarted: <Text value={afterRestart.join(", ")} />
        </p>
      )}
      {changes.length > 0 && (
        <p class="dim">
          {kept === 1 ? "1 component stays as it is." : `${countText(kept)} components stay as they are.`}
        </p>
      )}
    </>
  );
}
