import { expect, it } from "vitest";
import type { Replay } from "../../../../console/api/shapes.js";
import { replayStanding } from "../../../../console/pages/replay/replay-standing.js";

const replay = (facts: Partial<Replay>): Replay => ({ id: "r", state: "done", startedAt: 0, total: 3, ...facts });

it.each<[Partial<Replay>, string, string]>([
  [{ delivered: 3 }, "good", "all delivered"],
  [{ delivered: 2, failedAgain: 1 }, "bad", "1 failed again"],
  [{ delivered: 1, failedAgain: 1, pending: 1 }, "bad", "1 failed again"],
  [{ delivered: 2, pending: 1 }, "info", "being sent"],
  [{}, "good", "done"],
  [{ state: "running", delivered: 1, failedAgain: 2 }, "info", "running"],
  [{ state: "paused", delivered: 0 }, "warn", "paused"],
  [{ state: "cancelled", delivered: 1 }, "off", "cancelled"],
  [{ state: "failed", delivered: 3 }, "bad", "failed"],
  [{ dryRun: true, delivered: 3 }, "off", "dry run"],
])("says of a replay with %j: %s, %s", (facts, tone, text) => {
  expect(replayStanding(replay(facts))).toEqual({ tone, text });
});
