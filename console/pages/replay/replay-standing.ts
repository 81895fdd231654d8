import type { Replay } from "../../api/shapes.js";
import { countText } from "../../parts/format.js";

const STATE_TONES = {
  running: "info",
  paused: "warn",
  done: "good",
  cancelled: "off",
  failed: "bad",
} as const satisfies Record<Replay["state"], string>;

/** Tone and text of a badge. */
interface ReplayStanding {
  readonly tone: (typeof STATE_TONES)[Replay["state"]];
  readonly text: string;
}

/**
 * The state of a replay. Replayed entries may still wait or have failed again: only their outcomes show whether it
 * helped.
 */
export function replayStanding(replay: Replay): ReplayStanding {
  const { state, delivered, failedAgain = 0, pending = 0 } = replay;
  if (replay.dryRun) return { tone: "off", text: "dry run" };
  if (state !== "done" || delivered === undefined) return { tone: STATE_TONES[state], text: state };
  if (failedAgain > 0) return { tone: "bad", text: `${countText(failedAgain)} failed again` };
  if (pending > 0) return { tone: "info", text: "being sent" };
  return { tone: "good", text: "all delivered" };
}
