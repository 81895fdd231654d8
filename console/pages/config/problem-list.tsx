import type { ConfigProblem } from "../../api/shapes.js";
import { Text } from "../../parts/text.js";

/** Errors and warnings of a config, the errors first. */
export function ProblemList({ problems }: { problems: readonly ConfigProblem[] }) {
  if (problems.length === 0) return null;
  const inOrder = problems.toSorted((a, b) => Number(a.severity === "warning") - Number(b.severity === "warning"));
  return (
    <ul class="plain stack">
      {inOrder.map(({ severity, message, place }, i) => (
        <li key={i} class={severity === "error" ? "problem" : "note"}>
          {place !== undefined && (
            <>
              <code>
                <Text value={place} />
              </code>{" "}
            </>
          )}
          {severity}: <Text value={message} />
        </li>
      ))}
    </ul>
  );
}
