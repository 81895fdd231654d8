import { describe, expect, it } from "vitest";
import type { Overview, StateCounts } from "../../../../console/api/shapes.js";
import { healthText } from "../../../../console/pages/overview/health-text.js";

function counts(total: number, down = 0, degraded = 0): StateCounts {
  return { total, up: total - down - degraded, down, degraded, unwell: [] };
}

const WELL: Overview = {
  state: "UP",
  alerts: [],
  exporters: counts(3),
  receivers: counts(1),
  workers: { total: 0, ready: 0 },
  queue: { entries: 0, items: 0, bytes: 0 },
  deadLetters: { entries: 0, items: 0 },
};

describe("the health of an agent in a sentence", () => {
  it("is good if everything works and nothing is left", () => {
    const text = "All 3 exporters and 1 receiver work. Everything that came in was delivered or is being sent.";
    expect(healthText(WELL)).toEqual({ tone: "good", text });
  });

  it("counts what is down and degraded", () => {
    const down = { ...WELL, state: "DOWN", exporters: counts(3, 1, 2) } as const;
    expect(healthText(down)).toEqual({ tone: "bad", text: "1 of 3 exporters is down, 2 are degraded." });
    const both = { ...WELL, state: "DEGRADED", exporters: counts(3, 0, 1), receivers: counts(2, 0, 2) } as const;
    expect(healthText(both)).toEqual({
      tone: "warn",
      text: "1 of 3 exporters is degraded and 2 of 2 receivers are degraded.",
    });
  });

  it("is not good while dead letters wait or alerts fire", () => {
    const dead = { ...WELL, deadLetters: { entries: 1, items: 7 } };
    expect(healthText(dead)).toEqual({
      tone: "warn",
      text: "All 3 exporters and 1 receiver work, but 1 dead letter waits for you.",
    });
    const alert = { name: "", severity: "warning", state: "firing", target: "", since: 0, summary: "" } as const;
    expect(healthText({ ...WELL, alerts: [alert] }).text).toContain("but an alert fires.");
    expect(healthText({ ...WELL, alerts: [{ ...alert, state: "pending" }] }).tone).toBe("good");
  });
});
