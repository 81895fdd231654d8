import { describe, expect, it } from "vitest";
import { exporterStates } from "../../../../src/agent/cli/print/text.js";

describe("how exporters are", () => {
  it.each([
    [["UP", "UP"], "2 of 2 exporters UP"],
    [["DEGRADED"], "1 of 1 exporter DEGRADED"],
    [["UP", "DOWN", "DEGRADED", "UP"], "1 of 4 exporters DOWN, 1 DEGRADED, 2 UP"],
    [[], "0 exporters"],
  ] as const)("is said of each kind, the worst first: %j", (states, text) => {
    expect(exporterStates(states.map((state) => ({ state })))).toBe(text);
  });
});
