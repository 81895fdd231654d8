import type { Overview, StateCounts } from "../../api/shapes.js";
import { countOf } from "../../parts/format.js";

/** The health of the agent in a sentence. */
export interface HealthText {
  readonly tone: "good" | "warn" | "bad";
  readonly text: string;
}

export function healthText({ state, exporters, receivers, workers, deadLetters, alerts }: Overview): HealthText {
  const problems = [
    problemText(exporters, "exporter"),
    problemText(receivers, "receiver"),
    workers.ready < workers.total ? `${countOf(workers.total - workers.ready, "worker")} not ready` : "",
  ].filter((text) => text !== "");
  if (problems.length > 0) return { tone: state === "DOWN" ? "bad" : "warn", text: `${sentence(problems)}.` };
  const working = `All ${countOf(exporters.total, "exporter")} and ${countOf(receivers.total, "receiver")} work`;
  const { entries } = deadLetters;
  if (entries > 0)
    return {
      tone: "warn",
      text: `${working}, but ${entries === 1 ? "1 dead letter waits" : `${countOf(entries, "dead letter")} wait`} for you.`,
    };
  const firing = alerts.filter((alert) => alert.state === "firing").length;
  if (firing > 0)
    return { tone: "warn", text: `${working}, but ${firing === 1 ? "an alert fires" : `${firing} alerts fire`}.` };
  return { tone: "good", text: `${working}. Everything that came in was delivered or is being sent.` };
}

/** `1 of 3 exporters is down, 2 are degraded`; nothing if all are up. */
function problemText({ total, down, degraded }: StateCounts, noun: string): string {
  const parts = [
    [down, "down"],
    [degraded, "degraded"],
  ].filter(([count]) => count !== 0) as [number, string][];
  return parts
    .map(
      ([count, word], i) =>
        `${count}${i === 0 ? ` of ${countOf(total, noun)}` : ""} ${count === 1 ? "is" : "are"} ${word}`,
    )
    .join(", ");
}

function sentence(parts: readonly string[]): string {
  return parts.length < 2 ? (parts[0] ?? "") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;
}
