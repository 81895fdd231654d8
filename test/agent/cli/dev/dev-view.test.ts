import { describe, expect, it } from "vitest";
import { type DevState, devView } from "../../../../src/agent/cli/dev/dev-view.js";
import { lineWidth } from "../../../../src/agent/cli/print/fit-line.js";

const IDLE: DevState = {
  ...{ phase: "running", config: "sluice.yaml", problems: [], counts: undefined, isPaused: false },
  ...{ where: "", typed: undefined, filterProblem: undefined },
};
const SIZE = { columns: 80, rows: 24, colour: false };
const view = (state: Partial<DevState>, size: Partial<typeof SIZE> = {}) =>
  devView({ ...IDLE, ...state }, { ...SIZE, ...size });

describe("the screen of sluice dev", () => {
  it("shows what the agent does, how many records passed, and the keys", () => {
    const counts = {
      ...{ received: 12, exported: 9 },
      lost: [
        { id: "tidy", dropped: 2, refused: 0 },
        { id: "tag", dropped: 0, refused: 1 },
      ],
    };
    expect(view({ counts })).toEqual([
      "─".repeat(80),
      "running  sluice.yaml  in 12  out 9  tidy dropped 2  tag failed 1",
      "p pause  r restart  q quit  f filter",
    ]);
  });

  it("says that the last version runs on while there are problems", () => {
    const lines = view({ problems: ["error: no such key", "  at sluice.yaml:3:7"] });
    expect(lines.slice(1, 4)).toEqual([
      "error: no such key",
      "  at sluice.yaml:3:7",
      "running the last version that worked  sluice.yaml",
    ]);
    expect(view({ phase: "waiting" })).toContain("not running, waiting for a change  sluice.yaml");
  });

  it("wraps a long problem, so that its place can be read", () => {
    const problem = `error: plugin "./src/index.ts" threw while it was loaded: ${"word ".repeat(12)}(src/index.ts:12:7)`;
    const lines = view({ problems: [problem] });
    expect(lines.join("\n")).toContain("(src/index.ts:12:7)");
    for (const line of lines) expect(lineWidth(line)).toBeLessThanOrEqual(80);
  });

  it("leaves rows for records, and fits the screen", () => {
    const problems = Array.from({ length: 100 }, (_, i) => `error ${i}: ${"x".repeat(200)}`);
    for (const [columns, rows] of [
      [80, 24],
      [40, 12],
      [20, 5],
    ] as const) {
      const lines = view({ problems }, { columns, rows });
      expect(lines.length).toBeLessThanOrEqual(Math.max(4, rows - 6));
      for (const line of lines) expect(lineWidth(line)).toBeLessThanOrEqual(columns);
    }
    expect(view({ problems }).at(-3)).toContain("more lines: see sluice validate");
  });

  it("shows a condition while it is typed, and why it is none", () => {
    expect(view({ typed: "severity_number > " }).at(-1)).toBe(
      "show where: severity_number > _  Enter applies, Esc cancels",
    );
    expect(view({ typed: "(", filterProblem: "expected a value" }).at(-1)).toContain("expected a value");
    expect(view({ where: 'body == "a"' }).at(-1)).toContain('f filter: body == "a"');
  });

  it("passes no control sequence on that is part of a name", () => {
    const lost = [{ id: "\u001b[2Jx", dropped: 1, refused: 0 }];
    const text = view({ config: "a\u001b]0;b", counts: { received: 1, exported: 0, lost }, where: "\u001b[H" });
    expect(text.join("")).not.toContain("\u001b");
  });
});
